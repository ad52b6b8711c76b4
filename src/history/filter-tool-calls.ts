import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../errors.js";
import { callsOf, isAIMessage } from "./call.js";
import { type Group, groupMessages } from "./group.js";
import { isUserMessage } from "./summary.js";
import { hasSignedReasoning, isBlankMessage, withoutCalls } from "./without-calls.js";

/**
 * Leaves out old calls with their results: of the calls before the current human turn the last `max` stay, the
 * current turn's calls all stay. Text and user messages stay; a message that is left with neither calls nor text
 * goes. A message with signed reasoning keeps all of its calls or none, as its signature covers them. Orphan
 * results are neither counted nor touched.
 *
 * @returns The given array if nothing is left out.
 * @throws InvalidSettingError if `max` is not an integer of 0 or more.
 */
export function filterToolCalls(messages: readonly BaseMessage[], max: number): BaseMessage[] {
  if (!Number.isInteger(max) || max < 0) {
    throw InvalidSettingError.expected("maxToolCallsFromHistory", "an integer of 0 or more", max);
  }
  const { groups } = groupMessages(messages, callsOf);
  const turnStart = messages.findLastIndex(isUserMessage);
  const replacements = new Map<BaseMessage, BaseMessage | undefined>();
  const dropped = new Set<BaseMessage>();
  let left = max;
  for (const group of groups.toReversed()) {
    if (group.start >= turnStart || group.calls.length === 0) continue;
    const kept = callsToKeep(group, left);
    const cut = group.calls.length - kept;
    // What stays is the end of the history's calls without a gap.
    left = cut === 0 ? left - kept : 0;
    if (cut === 0) continue;
    replacements.set(group.head, withoutFirstCalls(group.head, cut));
    for (const result of resultsOf(group, cut)) dropped.add(result);
  }
  if (replacements.size === 0) return messages as BaseMessage[];
  return messages.flatMap((message) => {
    if (dropped.has(message)) return [];
    return replacements.has(message) ? (replacements.get(message) ?? []) : [message];
  });
}

function callsToKeep({ head, calls }: Group, left: number): number {
  if (hasSignedReasoning(head)) return calls.length <= left ? calls.length : 0;
  return Math.min(calls.length, left);
}

function resultsOf({ results }: Group, count: number): ToolMessage[] {
  return results.slice(0, count).filter((result) => result !== undefined);
}

/** Undefined if nothing worth sending is left. */
function withoutFirstCalls(head: BaseMessage, count: number): BaseMessage | undefined {
  if (!isAIMessage(head)) return head;
  const rest = withoutCalls(head, (index) => index < count);
  return callsOf(rest).length === 0 && isBlankMessage(rest) ? undefined : rest;
}
