/**
 * Moves every tool call into `tool_calls`, with an object as its arguments, and removes it everywhere else.
 *
 * Clients send the entries of `tool_calls`. They leave out `invalid_tool_calls`, whose results would then be orphans.
 * Some clients leave out calls that are only in the content. Others send a call twice if it is in both places. One
 * falls back to `additional_kwargs.tool_calls` when the list is empty. Most providers reject arguments that are not
 * an object. The result of such a call says what was wrong with them.
 */

import type { AIMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import {
  argumentsIn,
  argumentsOf,
  callsOf,
  isAIMessage,
  readCall,
  unlistedBlocks,
} from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isPlainData } from "../../../history/reading/plain-fields.js";
import { isRecord } from "../../../shared/is-record.js";
import { parseJson } from "../../../shared/parse-json.js";
import { recordsIn } from "../../../shared/records-in.js";
import { toJson } from "../../../shared/to-json.js";
import type { Step, StepReason } from "./step.js";

export const listCalls: Step = () => (message) => (isAIMessage(message) ? withListedCalls(message) : message);

/** Raw calls as the provider wrote them. All clients read `tool_calls` first, so these fields are not needed. */
const RAW_FIELDS = ["tool_calls", "function_call"] as const;
/** Blocks that some client treats as a call. Their call is in `tool_calls`. */
const CALL_BLOCKS: ReadonlySet<unknown> = new Set([
  "tool_use",
  "function_call",
  "tool_call",
  "tool_call_chunk",
  "invalid_tool_call",
  "input_json_delta",
]);

function withListedCalls(message: AIMessage): AIMessage {
  if (isListed(message)) return message;
  const listed = recordsIn(message.tool_calls);
  const invalid = recordsIn(message.invalid_tool_calls);
  const { content } = message;
  const hasCallBlocks = recordsIn(content).some(isCallBlock);
  const hasRaw = hasRawCalls(message);
  if (!hasCallBlocks && !hasRaw && invalid.length === 0 && listed.every(isSound)) return message;

  const calls = [...listed.map(soundCall), ...invalid.map((call) => soundCall({ ...call, args: {} }))];
  const additional_kwargs = { ...message.additional_kwargs };
  for (const name of RAW_FIELDS) delete additional_kwargs[name];
  return copyMessage(message, {
    tool_calls: [...calls, ...unlistedBlocks(content, calls).map(soundCall)],
    invalid_tool_calls: [],
    additional_kwargs,
    ...(Array.isArray(content) && { content: content.filter((block) => !isCallBlock(block)) }),
  });
}

type Fields = Readonly<Record<string, unknown>>;

/** Most responses that a thread keeps are a text, or have their calls in the list only. No list is made for them. */
function isListed(message: AIMessage): boolean {
  const { content, tool_calls, invalid_tool_calls } = message;
  if (typeof content !== "string" || invalid_tool_calls?.length !== 0 || hasRawCalls(message)) return false;
  if (!Array.isArray(tool_calls)) return false;
  for (const call of tool_calls) if (!isRecord(call) || !isSound(call)) return false;
  return true;
}

function hasRawCalls({ additional_kwargs }: AIMessage): boolean {
  for (const name of RAW_FIELDS) if (additional_kwargs?.[name] !== undefined) return true;
  return false;
}

function isCallBlock(block: unknown): boolean {
  return isRecord(block) && CALL_BLOCKS.has(block["type"]);
}

function isSound({ id, name, args }: Fields): boolean {
  return typeof id === "string" && typeof name === "string" && isWritable(args);
}

function soundCall(entry: Fields): ToolCall & { id: string } {
  const { id, name } = readCall(entry);
  const written = argumentsIn(entry);
  const args = typeof written === "string" ? parseJson(written) : written;
  return { type: "tool_call", id, name, args: isWritable(args) ? { ...args } : {} };
}

/** Arguments with more values are written as JSON. */
const FEW_VALUES = 64;

/** Whether these arguments can be sent: an object that can be written as JSON. */
function isWritable(args: unknown): args is Fields {
  // What is plain data has a JSON, which need not be written.
  return isRecord(args) && (isPlainData(args, FEW_VALUES) || toJson(args) !== undefined);
}

export const whyListCalls: StepReason = ({ before, after }) => {
  const given = argumentsOf(before);
  const unsound = callsOf(after ?? before).filter((_, index) => !isWritable(given[index]));
  const names = unsound.map(({ id }) => `"${id}"`).join(", ");
  if (names === "")
    return { code: "calls-listed", text: "Its calls are sent in one list, and in no other field or block." };
  return {
    code: "calls-listed",
    text: `The arguments of these calls are not a JSON object, so an object takes their place: ${names}.`,
    rules: ["arguments"],
  };
};
