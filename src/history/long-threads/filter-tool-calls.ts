import type { BaseMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../../errors.js";
import { groupMessages } from "../calls/group.js";
import { surveyOf } from "../following/survey.js";
import { callsOf } from "../messages/call.js";
import { joinsTurn } from "../messages/steered.js";
import { isUserMessage } from "../messages/summary.js";
import { assertList, soundMessages } from "../reading/read-messages.js";
import { callsToKeep, filterFollowed, withoutFirstCalls } from "./call-filter.js";
import { wholeNumber } from "./find-safe-cutoff.js";

/**
 * How many tool calls of earlier turns to keep, as an integer of 0 or more. The oldest ones are left out. With
 * `clearAtLeast` they are left out in blocks: once there are more than `max`, the oldest `clearAtLeast` calls are left
 * out, and no more until there are again more than `max`. So the beginning of the model's input changes less often, and
 * the provider's prompt cache can be used. `clearAtLeast` is an integer of 1 or more; the default is 1.
 */
export type ToolCallsToKeep = number | { readonly max: number; readonly clearAtLeast?: number | undefined };

/**
 * Removes old tool calls together with their results. Before the current turn the last `max` calls stay; in
 * the current turn all calls stay. Text and user messages stay. A message without calls and text after this
 * is removed. A message with signed reasoning keeps all of its calls or none, because the signature covers
 * them. Orphan results are not counted and not removed.
 *
 * @param given The messages of a history.
 * @param max How many calls of earlier turns to keep.
 * @returns The same array if nothing is removed.
 * @throws InvalidSettingError if `max` is not an integer of 0 or more, or `clearAtLeast` not one of 1 or more.
 * @throws InvalidMessageError if `given` is not a list of messages.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { filterToolCalls } from "langgraph-tether";
 *
 * const history = [
 *   new HumanMessage("What is the weather in Paris?"),
 *   new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: { city: "Paris" } }] }),
 *   new ToolMessage({ tool_call_id: "c1", content: "18 °C" }),
 *   new AIMessage("18 °C."),
 *   new HumanMessage("Thank you!"),
 * ];
 * console.log(filterToolCalls(history, 0).map((message) => message.text)); // [ 'What is the weather in Paris?', '18 °C.', 'Thank you!' ]
 * ```
 */
export function filterToolCalls(given: readonly BaseMessage[], max: ToolCallsToKeep): BaseMessage[] {
  assertList(given);
  const { odd, paired } = surveyOf(given);
  if (odd === 0 && paired === given.length)
    return filterFollowed(given, (total) => callsLeft(total, max)) ?? (given as BaseMessage[]);
  return filterAny(soundMessages(given), max);
}

/** The same for a list in any order. */
function filterAny(messages: readonly BaseMessage[], max: ToolCallsToKeep): BaseMessage[] {
  const left = filterEach(messages, max);
  return (left === messages ? left : left.filter((message) => message !== undefined)) as BaseMessage[];
}

/** What is left of each message; undefined for one that is left out. The same array if nothing is removed. */
export function filterEach(
  messages: readonly BaseMessage[],
  max: ToolCallsToKeep,
): readonly (BaseMessage | undefined)[] {
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
    // The calls that stay are the last ones of the history, without gaps.
    keep = cut === 0 ? keep - kept : 0;
    if (cut === 0) continue;
    left[group.start] = withoutFirstCalls(group.head, cut);
    for (const place of group.answeredAt.slice(0, cut)) if (place !== undefined) left[place] = undefined;
  }
  return left.every((message, index) => message === messages[index]) ? messages : left;
}

/** @throws InvalidSettingError for a limit that cannot be used. */
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

/** How many of the calls stay. It depends on their number alone, so it changes only when one more block is full. */
function callsLeft(total: number, limit: ToolCallsToKeep): number {
  const { max, step } = checkToolCallsToKeep(limit);
  const blocks = Math.ceil(Math.max(0, total - max) / step);
  return Math.max(0, total - blocks * step);
}
