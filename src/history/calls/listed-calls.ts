/**
 * Moves every call of a message into `tool_calls`, where every client sends it from.
 *
 * Clients leave out `invalid_tool_calls`, whose results would then be orphans. Some clients leave out calls that are only
 * in the content. Others send a call twice if it is in both places. One falls back to `additional_kwargs.tool_calls`
 * when the list is empty. Most providers reject arguments that are not an object.
 */

import type { AIMessage, BaseMessage, ToolCall } from "@langchain/core/messages";
import { isRecord } from "../../shared/is-record.js";
import { parseJson } from "../../shared/parse-json.js";
import { recordsIn } from "../../shared/records-in.js";
import { toJson } from "../../shared/to-json.js";
import { argumentsIn, callsOf, isAIMessage, readCall, unlistedCalls } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";
import { isPlainData } from "../reading/plain-fields.js";
import { storableCopy } from "../reading/storable-copy.js";

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

/**
 * The message with every call in `tool_calls`, in call order, with an object as its arguments, and nowhere else. The
 * same message if it is so already. What can be read of the arguments stays; otherwise they are empty.
 */
export function withListedCalls(message: AIMessage): AIMessage {
  if (isListed(message)) return message;
  const listed = recordsIn(message.tool_calls);
  const invalid = recordsIn(message.invalid_tool_calls);
  const { content } = message;
  const hasCallBlocks = recordsIn(content).some(isCallBlock);
  const hasRaw = hasRawCalls(message);
  if (!hasCallBlocks && !hasRaw && invalid.length === 0 && listed.every(isSound)) return message;

  const calls = [...listed, ...invalid].map(soundCall);
  const additional_kwargs = { ...message.additional_kwargs };
  for (const name of RAW_FIELDS) delete additional_kwargs[name];
  return copyMessage(message, {
    tool_calls: [...calls, ...unlistedCalls(message, calls).map(soundCall)],
    invalid_tool_calls: [],
    additional_kwargs,
    ...(Array.isArray(content) && { content: content.filter((block) => !isCallBlock(block)) }),
  });
}

/**
 * The same for a message that gets a result which nobody returned. If all its calls are in `tool_calls`, it stays as it
 * is. Otherwise a client that does not send the call would send the result alone, and the provider would refuse it.
 */
export function withSentCalls<T extends BaseMessage>(message: T): T | AIMessage {
  if (!isAIMessage(message)) return message;
  return callsOf(message).length > recordsIn(message.tool_calls).length ? withListedCalls(message) : message;
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
  const args = typeof written === "string" ? storableCopy(parseJson(written)) : written;
  const { thoughtSignature } = entry;
  return {
    type: "tool_call",
    id,
    name,
    args: isWritable(args) ? { ...args } : {},
    // `ChatGoogle` reads Gemini's signature of a call here.
    ...(typeof thoughtSignature === "string" && { thoughtSignature }),
  };
}

/** Arguments with more values are written as JSON. */
const FEW_VALUES = 64;

/** Whether these arguments can be sent: an object that can be written as JSON. */
export function isWritable(args: unknown): args is Fields {
  // What is plain data has a JSON, which need not be written.
  return isRecord(args) && (isPlainData(args, FEW_VALUES) || toJson(args) !== undefined);
}
