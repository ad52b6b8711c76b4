/**
 * The words of this library. Names, documents and errors use them without synonyms.
 *
 * - **tool call**, or **call**: one entry in an `AIMessage`'s `tool_calls` or `invalid_tool_calls`, or the same call as
 *   a content block (`tool_use`, `function_call`). If `tool_calls` is empty, an entry in `additional_kwargs.tool_calls`
 *   also counts, because some clients then send it. A call is an *occurrence*, not an id: providers repeat ids within a
 *   thread, and some repeat them within one message. OpenAI's older field `function_call` is not a call here: it has no
 *   id, and no provider demands its result.
 * - **response**: the `AIMessage` that a model returns to one request.
 * - **result**, or **tool result**: the `ToolMessage` of a call. It *answers* the call whose id it names.
 * - **decision**: what a human decides about a call that needs approval.
 * - **batch**: the calls of one response.
 * - **round**: one response with calls, together with their results.
 * - **turn**: a user message and everything that follows it, up to the next user message.
 * - **group**: in a message list, one message with its calls (most messages have none) and their results.
 * - **open group**: the last group of the history if only its results follow its message. Its calls can still get their
 *   results.
 * - **pending call**: a call without a result in the open group. **In flight**: its tool is running.
 * - **dangling call**: a call without a result in a group that is not open.
 * - **orphan result**: a result without a call before it.
 * - **placeholder**: a result that this library writes because none was recorded.
 * - **late result**: a result that arrives after its call was closed with a placeholder or covered by a summary.
 * - **history**: the messages stored in a thread's state. **Model input**: the messages sent in one model request.
 * - **covered**: a covered message is represented by a summary.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { addToList, isRecord, recordsIn } from "../shared/values.js";

/** One tool call of an AI message: an occurrence, not an id. */
export interface Call {
  /** The id that the provider set, or `""` if it set none. It can repeat in a thread and even in one message. */
  readonly id: string;
  /** The tool's name, or `""` if it is missing. */
  readonly name: string;
  /**
   * `"valid"`: the call can be run. `"invalid"`: its arguments could not be parsed, so it cannot be run.
   * `"answered"`: a summary archived the call together with its result.
   */
  readonly kind: "valid" | "invalid" | "answered";
}

const NO_CALLS: readonly Call[] = [];

export function isAIMessage(message: BaseMessage): message is AIMessage {
  return message.type === "ai";
}

/**
 * A message's calls in call order: `tool_calls`, then `invalid_tool_calls`, then calls that are only in the content,
 * then those that are only in `additional_kwargs.tool_calls`. Some clients write one call in several places, so entries
 * with the same id in two places are one call. Each entry matches one entry of the other place. Reads malformed
 * messages without throwing.
 */
export function callsOf(message: BaseMessage): readonly Call[] {
  if (!isAIMessage(message)) return NO_CALLS;
  const { tool_calls, invalid_tool_calls } = message;
  const isWrittenElsewhere = hasCallBlocks(message) || hasRawCalls(message);
  if (!isWrittenElsewhere && isEmpty(tool_calls) && isEmpty(invalid_tool_calls)) return NO_CALLS;

  const valid = recordsIn(tool_calls).map(readValid);
  const calls = isEmpty(invalid_tool_calls)
    ? valid
    : [...valid, ...recordsIn(invalid_tool_calls).map(readInvalid)];
  return isWrittenElsewhere ? [...calls, ...unlistedCalls(message, calls).map(readValid)] : calls;
}

/** The unparsed arguments of a message's calls, in the order of `callsOf`. */
export function argumentsOf(message: BaseMessage): readonly unknown[] {
  if (!isAIMessage(message)) return [];
  const { tool_calls, invalid_tool_calls } = message;
  const listed = [...recordsIn(tool_calls), ...recordsIn(invalid_tool_calls)];
  const calls = listed.map((entry) => readCall(entry));
  return [...listed.map((entry) => entry["args"]), ...unlistedCalls(message, calls).map(argumentsIn)];
}

/** The call that a content block describes, or undefined if it describes none. */
export function callBlockOf(block: unknown): Call | undefined {
  return isCallBlock(block) ? readCall(block) : undefined;
}

/**
 * The calls that are only in the content or in `additional_kwargs.tool_calls`, as entries for `readCall` and
 * `argumentsIn`. Each listed call stands for one entry of each place with its id.
 */
export function unlistedCalls(
  message: AIMessage,
  listed: readonly { readonly id: string }[],
): readonly Record<string, unknown>[] {
  const blocks = unmatched(recordsIn(message.content).filter(isCallBlock), listed);
  if (!hasRawCalls(message)) return blocks;
  const raw = recordsIn(message.additional_kwargs.tool_calls).map(flatEntry);
  return [...blocks, ...unmatched(raw, [...listed, ...blocks.map(readValid)])];
}

function unmatched(entries: readonly Record<string, unknown>[], listed: readonly { readonly id: string }[]) {
  const left = new Map<string, number>();
  for (const { id } of listed) left.set(id, (left.get(id) ?? 0) + 1);
  return entries.filter((entry) => {
    const { id } = readCall(entry);
    const count = left.get(id) ?? 0;
    left.set(id, count - 1);
    return count <= 0;
  });
}

/** A call in the form of OpenAI's chat completions: its name and arguments are one level deeper. */
export function flatEntry(entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { function: body, id } = entry;
  return isRecord(body) ? { ...body, id } : entry;
}

function hasCallBlocks({ content }: AIMessage): boolean {
  return Array.isArray(content) && content.some(isCallBlock);
}

/** Clients read this field only if `tool_calls` is empty. */
function hasRawCalls({ tool_calls, additional_kwargs }: AIMessage): boolean {
  return isEmpty(tool_calls) && !isEmpty(additional_kwargs?.tool_calls);
}

export function readCall(entry: Record<string, unknown>, kind: Call["kind"] = "valid"): Call {
  const name = entry["name"];
  return { id: idIn(entry), name: typeof name === "string" ? name : "", kind };
}

const readValid = (entry: Record<string, unknown>): Call => readCall(entry);
const readInvalid = (entry: Record<string, unknown>): Call => readCall(entry, "invalid");

/**
 * The field of an entry or a block with the id that the call's result names. A block of OpenAI's Responses API has an
 * item id as well, and LangChain swaps the two in its own list.
 */
export function idFieldOf(entry: Readonly<Record<string, unknown>>): "call_id" | "id" {
  return typeof entry["call_id"] === "string" && entry["type"] !== "tool_call" ? "call_id" : "id";
}

function idIn(entry: Readonly<Record<string, unknown>>): string {
  const id = entry[idFieldOf(entry)];
  return typeof id === "string" ? id : "";
}

/** The unparsed arguments of an entry or a block. */
export function argumentsIn({ args, input, arguments: written }: Record<string, unknown>): unknown {
  return args ?? input ?? written;
}

/** The indexes of the calls with each id, last first: `pop` takes them in call order. */
export function indexesById(calls: readonly { readonly id: string }[]): Map<string, number[]> {
  const indexes = new Map<string, number[]>();
  for (const [index, { id }] of [...calls.entries()].reverse()) addToList(indexes, id, index);
  return indexes;
}

function isEmpty(list: unknown): boolean {
  return !Array.isArray(list) || list.length === 0;
}

function isCallBlock(block: unknown): block is Record<string, unknown> {
  return isRecord(block) && (block["type"] === "tool_use" || block["type"] === "function_call");
}
