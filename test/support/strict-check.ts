/**
 * Checks a list of messages as a strict provider does. It is independent of `src/history`, except for the mark of an
 * archived summary.
 */

import { type AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { coverageOf } from "./internals.js";

type Block = Record<string, unknown>;

/**
 * The ids of a message's calls in call order: those of the two lists, then those that are only in the content, then those
 * that only `additional_kwargs` has, where some clients send them from if `tool_calls` is empty.
 */
export function callIdsOf(message: BaseMessage): string[] {
  if (message.type !== "ai") return [];
  const { tool_calls = [], invalid_tool_calls = [], content, additional_kwargs } = message as AIMessage;
  const listed = [...tool_calls, ...invalid_tool_calls].map((call) => call.id ?? "");
  const unmatched = [...listed];
  const blocks: Block[] = Array.isArray(content) ? content : [];
  const contentOnly: string[] = [];
  for (const block of blocks) {
    const id = idOfBlock(block);
    if (id === undefined) continue;
    const twin = unmatched.indexOf(id);
    if (twin >= 0) unmatched.splice(twin, 1);
    else contentOnly.push(id);
  }
  const found = [...listed, ...contentOnly];
  const others = [...found];
  for (const { id } of tool_calls.length === 0 ? (additional_kwargs?.tool_calls ?? []) : []) {
    const twin = others.indexOf(id);
    if (twin >= 0) others.splice(twin, 1);
    else found.push(id);
  }
  return found;
}

/** The id of a content block that is a call; undefined for any other block. */
function idOfBlock(block: Block): string | undefined {
  const textOf = (id: unknown) => (typeof id === "string" ? id : "");
  if (block["type"] === "tool_use") return textOf(block["id"]);
  if (block["type"] === "function_call") return textOf(block["call_id"] ?? block["id"]);
  return undefined;
}

export function answeredIdOf(message: BaseMessage): string | undefined {
  if (message.type !== "tool") return undefined;
  const id: unknown = Reflect.get(message, "tool_call_id");
  return typeof id === "string" ? id : "";
}

/** The results directly after the message at an index. */
function resultsBehind(messages: readonly BaseMessage[], index: number): string[] {
  const ids: string[] = [];
  for (const message of messages.slice(index + 1)) {
    const id = answeredIdOf(message);
    if (id === undefined) break;
    ids.push(id);
  }
  return ids;
}

/**
 * Each message with calls is followed directly by one result for each call, in call order. There are no other results.
 * Returns a description of each fault; empty for a valid list.
 */
export function strictViolations(messages: readonly BaseMessage[]): string[] {
  const violations: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.type === "tool") {
      if (index === 0) violations.push(`[0] the list begins with a result of ${answeredIdOf(message)}`);
      continue;
    }
    const calls = callIdsOf(message);
    const results = resultsBehind(messages, index);
    if (calls.length !== results.length || calls.some((id, call) => id !== results[call])) {
      violations.push(`[${index}] calls (${calls.join()}) are followed by results of (${results.join()})`);
    }
  }
  return violations;
}

/**
 * Rules for every state: results directly follow their message, in call order, at most one for each call. Results of
 * calls that a summary archived follow the summary in the same way. Calls can wait for their results. Ids are unique.
 * There are no removals and no chunks.
 */
export function stateViolations(messages: readonly BaseMessage[]): string[] {
  const violations: string[] = [];
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const { id } = message;
    if (typeof id !== "string" || id.trim() === "") violations.push(`[${index}] has no id`);
    else if (seen.has(id)) violations.push(`[${index}] has the id ${id} of an earlier message`);
    else seen.add(id);
    if (RemoveMessage.isInstance(message)) violations.push(`[${index}] is a removal`);
    if (message.constructor.name.endsWith("Chunk")) violations.push(`[${index}] is a chunk`);
    if (message.type === "tool") {
      if (index === 0) violations.push(`[0] the state begins with a result of ${answeredIdOf(message)}`);
      continue;
    }
    const results = resultsBehind(messages, index);
    const coverage = coverageOf(message);
    const calls = coverage?.kind === "archive" ? coverage.calls : callIdsOf(message);
    const unmatched = withoutInOrder(results, calls);
    if (unmatched.length > 0) {
      violations.push(
        `[${index}] is followed by results of (${unmatched.join()}) that answer none of its calls`,
      );
    }
  }
  return violations;
}

/** The results that match no call, if each result must match a call after that of the result before it. */
function withoutInOrder(results: readonly string[], calls: readonly string[]): string[] {
  let next = 0;
  return results.filter((id) => {
    const call = calls.indexOf(id, next);
    if (call >= 0) next = call + 1;
    return call < 0;
  });
}
