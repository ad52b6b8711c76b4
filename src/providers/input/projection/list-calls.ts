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
import { callBlockOf, countById, isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import { toJson } from "../../../shared/to-json.js";
import { mapMessages } from "./map-messages.js";
import type { Step } from "./step.js";

export const listCalls: Step = (messages) =>
  mapMessages(messages, (message) => (isAIMessage(message) ? withListedCalls(message) : message));

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
  const listed = asList(message.tool_calls);
  const invalid = asList(message.invalid_tool_calls);
  const blocks = Array.isArray(message.content) ? message.content : [];
  const hasCallBlocks = blocks.some(isCallBlock);
  const hasRaw = RAW_FIELDS.some((name) => message.additional_kwargs?.[name] !== undefined);
  if (!hasCallBlocks && !hasRaw && invalid.length === 0 && listed.every(isSound)) return message;

  const calls = [...listed.map(soundCall), ...invalid.map((call) => soundCall({ ...call, args: {} }))];
  const waiting = countById(calls);
  for (const block of blocks) {
    if (callBlockOf(block) === undefined) continue;
    const call = soundCall(block);
    const twins = waiting.get(call.id) ?? 0;
    if (twins === 0) calls.push(call);
    else waiting.set(call.id, twins - 1);
  }
  const additional_kwargs = { ...message.additional_kwargs };
  for (const name of RAW_FIELDS) delete additional_kwargs[name];
  return copyMessage(message, {
    tool_calls: calls,
    invalid_tool_calls: [],
    additional_kwargs,
    ...(hasCallBlocks && { content: blocks.filter((block) => !isCallBlock(block)) }),
  });
}

type Fields = Readonly<Record<string, unknown>>;

function asList(list: unknown): Fields[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function isCallBlock(block: unknown): boolean {
  return isRecord(block) && CALL_BLOCKS.has(block["type"]);
}

function isSound({ id, name, args }: Fields): boolean {
  return typeof id === "string" && typeof name === "string" && isRecord(args) && toJson(args) !== undefined;
}

function soundCall(entry: Fields): ToolCall & { id: string } {
  const { id, call_id, name, args, input, arguments: written } = entry;
  const given = call_id ?? id;
  return {
    type: "tool_call",
    id: typeof given === "string" ? given : "",
    name: typeof name === "string" ? name : "",
    args: { ...toObject(args ?? input ?? written) },
  };
}

function toObject(value: unknown): Fields {
  if (typeof value !== "string") return isRecord(value) && toJson(value) !== undefined ? value : {};
  try {
    const parsed: unknown = JSON.parse(value);
    return isRecord(parsed) ? parsed : {};
  } catch {
    return {};
  }
}
