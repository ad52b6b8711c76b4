/**
 * The words of this library, used in names, documents and errors without synonyms:
 *
 * - **call**: one tool call of an `AIMessage`: an entry of `tool_calls` or `invalid_tool_calls`, or the same
 *   call as a content block (`tool_use`, `function_call`).
 * - **result**: a `ToolMessage`.
 * - **group**: one `AIMessage` with calls and the results that answer them.
 * - **open group**: the group at the end of the history; some of its calls may still be pending.
 * - **dangling call**: a call without a result in a group that is not open any more.
 * - **orphan result**: a result whose call does not stand before it.
 * - **placeholder**: a result that we wrote because none was recorded.
 * - **history**: the messages stored in a thread's state. **Model input**: what one model request is sent.
 * - **covered**: of messages: represented by a summary.
 *
 * A call is an *occurrence*, not an id: providers repeat ids within a thread, and some within one message.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../shared/is-record.js";

/** One tool call of an AI message. It is an occurrence, not an id: ids repeat. */
export interface Call {
  /** As the provider gave it; `""` where it gave none. Not unique in a thread, nor always in one message. */
  readonly id: string;
  /** The tool's name; `""` where it is missing. */
  readonly name: string;
  /**
   * `"invalid"`: the arguments could not be parsed, so it cannot be run. `"answered"`: an archived call whose result
   * left with it.
   */
  readonly kind: "valid" | "invalid" | "answered";
}

const NO_CALLS: readonly Call[] = [];

export function isAIMessage(message: BaseMessage): message is AIMessage {
  return message.type === "ai";
}

/**
 * The calls of a message in call order: `tool_calls`, then `invalid_tool_calls`, then those that stand in the
 * content only. A content block stands for an entry of the same id, one block for one entry; so a call that a
 * client writes in both places is one call. Reads foreign shapes without throwing.
 */
export function callsOf(message: BaseMessage): readonly Call[] {
  if (!isAIMessage(message)) return NO_CALLS;
  const { tool_calls, invalid_tool_calls, content } = message;
  const hasBlocks = Array.isArray(content) && content.some(isCallBlock);
  if (!hasBlocks && isEmpty(tool_calls) && isEmpty(invalid_tool_calls)) return NO_CALLS;

  const calls = [...readCalls(tool_calls, "valid"), ...readCalls(invalid_tool_calls, "invalid")];
  if (!hasBlocks) return calls;
  const listed = countById(calls);
  for (const block of content) {
    if (!isCallBlock(block)) continue;
    const call = readCall(block, "valid");
    const count = listed.get(call.id) ?? 0;
    if (count > 0) listed.set(call.id, count - 1);
    else calls.push(call);
  }
  return calls;
}

/** The arguments of each call of a message, as they are written; in the order of `callsOf`. */
export function argumentsOf(message: BaseMessage): readonly unknown[] {
  if (!isAIMessage(message)) return [];
  const { tool_calls, invalid_tool_calls, content } = message;
  const listed = [tool_calls, invalid_tool_calls].flatMap((list) =>
    Array.isArray(list) ? list.filter(isRecord) : [],
  );
  const left = countById(listed.map((entry) => readCall(entry, "valid")));
  const blocks = Array.isArray(content) ? content.filter(isCallBlock) : [];
  const unlisted = blocks.filter((block) => {
    const { id } = readCall(block, "valid");
    const count = left.get(id) ?? 0;
    left.set(id, count - 1);
    return count <= 0;
  });
  return [
    ...listed.map((entry) => entry["args"]),
    ...unlisted.map((block) => block["input"] ?? block["arguments"]),
  ];
}

/** The call that a content block is; undefined for any other block. */
export function callBlockOf(block: unknown): Call | undefined {
  return isCallBlock(block) ? readCall(block, "valid") : undefined;
}

function isEmpty(list: unknown): boolean {
  return !Array.isArray(list) || list.length === 0;
}

function readCalls(list: unknown, kind: Call["kind"]): Call[] {
  return Array.isArray(list) ? list.filter(isRecord).map((entry) => readCall(entry, kind)) : [];
}

function readCall(entry: Record<string, unknown>, kind: Call["kind"]): Call {
  // A Responses API block has an item id beside the id that its result names.
  const id = entry["call_id"] ?? entry["id"];
  const name = entry["name"];
  return { id: typeof id === "string" ? id : "", name: typeof name === "string" ? name : "", kind };
}

function isCallBlock(block: unknown): block is Record<string, unknown> {
  return isRecord(block) && (block["type"] === "tool_use" || block["type"] === "function_call");
}

function countById(calls: readonly Call[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(call.id, (counts.get(call.id) ?? 0) + 1);
  return counts;
}
