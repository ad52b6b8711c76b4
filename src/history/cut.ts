/** Where a history can be cut: at safe places, and by leaving out old tool calls. */

import type { BaseMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../errors.js";
import { callsOf, isAIMessage } from "./call.js";
import { hasSignedReasoning, isBlankMessage, withoutCalls } from "./change-calls.js";
import { createMemo } from "./follow-list.js";
import { groupMessages } from "./group.js";
import { joinsTurn } from "./marks.js";
import { soundMessages } from "./read-messages.js";
import { countTokens } from "./size.js";
import { isUserMessage } from "./summary.js";

/** How much of the end of a history to keep: a number of messages, or of estimated tokens. */
export type Keep = { readonly messages: number } | { readonly tokens: number };

/**
 * Finds the index of the first message to keep, without splitting a group. No result after the cut answers a call
 * before it, even where groups are interleaved. The open group stays complete while it has pending calls.
 *
 * The cut moves back from the requested place to include a complete group. It moves forward only if nothing but system
 * messages would be before it. Returns 0 if the history cannot be cut or does not need to be.
 *
 * @param given The messages of a history.
 * @param keep How much to keep: `{ messages }` or `{ tokens }`, an integer of 0 or more.
 * @throws InvalidSettingError if the number is not an integer of 0 or more.
 * @throws InvalidMessageError if `given` is not a list of messages.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { findSafeCutoff } from "langgraph-tether";
 *
 * const history = [
 *   new HumanMessage("Hello!"),
 *   new AIMessage("Hi!"),
 *   new HumanMessage("What is the weather in Paris?"),
 *   new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: { city: "Paris" } }] }),
 *   new ToolMessage({ tool_call_id: "c1", content: "18 °C" }),
 * ];
 * // Keeping one message would keep the result without its call, so the cut moves back.
 * console.log(findSafeCutoff(history, { messages: 1 })); // 3
 * ```
 */
export function findSafeCutoff(given: readonly BaseMessage[], keep: Keep): number {
  const messages = soundMessages(given);
  if (typeof keep !== "object" || keep === null || !("messages" in keep || "tokens" in keep)) {
    throw InvalidSettingError.expected("keep", "{ messages: number } or { tokens: number }", keep);
  }
  const requested =
    "messages" in keep ? cutByCount(messages, keep.messages) : cutByTokens(messages, keep.tokens);
  if (requested === 0) return 0;
  const isSafe = safeCuts(messages);
  const firstUseful = messages.findIndex((message) => message.type !== "system") + 1;
  if (firstUseful === 0) return 0;
  const before = isSafe.lastIndexOf(true, requested);
  if (before >= firstUseful) return before;
  const after = isSafe.indexOf(true, Math.max(requested, firstUseful));
  return after < messages.length ? Math.max(after, 0) : 0;
}

function cutByCount(messages: readonly BaseMessage[], count: number): number {
  return Math.max(0, messages.length - wholeNumber("messages", count));
}

function cutByTokens(messages: readonly BaseMessage[], budget: number): number {
  let left = wholeNumber("tokens", budget);
  let cut = messages.length;
  for (const message of messages.toReversed()) {
    left -= countTokens(message);
    if (left < 0) break;
    cut -= 1;
  }
  return cut;
}

/** @throws InvalidSettingError for any other number. */
function wholeNumber(setting: string, value: number): number {
  if (Number.isInteger(value) && value >= 0) return value;
  throw InvalidSettingError.expected(setting, "an integer of 0 or more", value);
}

/** For each index from 0 to the length: whether a cut there splits no group. */
export function safeCuts(messages: readonly BaseMessage[]): boolean[] {
  const { groups } = groupMessages(messages);
  const ends = new Map(groups.map(({ start, end }) => [start, end]));
  const open = groups.at(-1);
  // Its pending calls' results will come after everything in the list.
  if (open?.results.includes(undefined)) ends.set(open.start, messages.length + 1);
  const isSafe: boolean[] = [];
  let reach = 0;
  for (let index = 0; index <= messages.length; index += 1) {
    isSafe.push(reach <= index);
    reach = Math.max(reach, ends.get(index) ?? 0);
  }
  return isSafe;
}

/**
 * How many tool calls of earlier turns to keep, an integer of 0 or more. The oldest are left out. With `clearAtLeast`,
 * an integer of 1 or more, they are left out in blocks: once there are more than `max`, the oldest `clearAtLeast` go,
 * and no others until there are again more than `max`. The start of the model's input then changes less often, and the
 * provider's prompt cache works. `clearAtLeast` defaults to 1.
 */
export type ToolCallsToKeep = number | { readonly max: number; readonly clearAtLeast?: number | undefined };

/**
 * Removes old tool calls together with their results. The last `max` calls before the current turn stay, and so do all
 * calls in it. Text and user messages stay. A message left without calls and text is removed. A message with signed
 * reasoning keeps all its calls or none, because the signature covers them. Orphan results neither count nor go.
 *
 * @param given The messages of a history.
 * @param max How many calls of earlier turns to keep.
 * @returns The same array if nothing is removed.
 * @throws InvalidSettingError if `max` is not an integer of 0 or more, or `clearAtLeast` not one of 1 or more.
 * @throws InvalidMessageError if `given` is not a list of messages.
 */
export function filterToolCalls(given: readonly BaseMessage[], max: ToolCallsToKeep): BaseMessage[] {
  const messages = soundMessages(given) as BaseMessage[];
  const { groups } = groupMessages(messages, callsOf);
  const turnStart = messages.findLastIndex(
    (message, index) => isUserMessage(message) && !joinsTurn(messages, index),
  );
  const earlier = groups.filter(({ start, calls }) => start < turnStart && calls.length > 0);
  let keep = callsLeft(
    earlier.reduce((sum, { calls }) => sum + calls.length, 0),
    max,
  );
  const left = messages.slice() as (BaseMessage | undefined)[];
  for (const group of earlier.toReversed()) {
    const kept = callsToKeep(group.head, group.calls.length, keep);
    const cut = group.calls.length - kept;
    // The calls that stay are the history's last ones, without gaps.
    keep = cut === 0 ? keep - kept : 0;
    if (cut === 0) continue;
    left[group.start] = withoutFirstCalls(group.head, cut);
    for (const place of group.answeredAt.slice(0, cut)) if (place !== undefined) left[place] = undefined;
  }
  const isSame = left.every((message, index) => message === messages[index]);
  return isSame ? messages : left.filter((message) => message !== undefined);
}

/** @throws InvalidSettingError for an unusable limit. */
export function checkToolCallsToKeep(limit: ToolCallsToKeep): {
  readonly max: number;
  readonly step: number;
} {
  const {
    max,
    clearAtLeast = 1,
    ...rest
  } = typeof limit === "object" && limit !== null ? limit : { max: limit };
  if (Object.keys(rest).length > 0)
    throw InvalidSettingError.expected(
      "maxToolCallsFromHistory",
      "a number, or `max` and `clearAtLeast`",
      limit,
    );
  const most = wholeNumber("maxToolCallsFromHistory", max);
  if (Number.isInteger(clearAtLeast) && clearAtLeast >= 1) return { max: most, step: clearAtLeast };
  const name = "maxToolCallsFromHistory.clearAtLeast";
  throw InvalidSettingError.expected(name, "an integer of 1 or more", clearAtLeast);
}

/** How many calls stay. Only their number decides, so it changes only when one more block is full. */
function callsLeft(total: number, limit: ToolCallsToKeep): number {
  const { max, step } = checkToolCallsToKeep(limit);
  const blocks = Math.ceil(Math.max(0, total - max) / step);
  return Math.max(0, total - blocks * step);
}

/**
 * How many of a message's calls stay, if this many more may. A message with signed reasoning keeps all its calls or
 * none, because the signature covers them.
 */
function callsToKeep(message: BaseMessage, calls: number, left: number): number {
  if (hasSignedReasoning(message)) return calls <= left ? calls : 0;
  return Math.min(calls, left);
}

/** Kept, so that the next call's input has the same objects and need not be projected again. */
const shorter = createMemo<BaseMessage | undefined>();

/** Returns undefined if nothing worth sending remains. */
function withoutFirstCalls(head: BaseMessage, count: number): BaseMessage | undefined {
  if (!isAIMessage(head)) return head;
  return shorter(head, count, () => {
    const left = withoutCalls(head, (index) => index < count);
    return callsOf(left).length === 0 && isBlankMessage(left) ? undefined : left;
  });
}
