import type { BaseMessage } from "@langchain/core/messages";
import { type CallsOfHead, flattenGroups, type Group, groupMessages } from "../calls/group.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { isResult } from "../messages/result.js";

/**
 * Groups any list of messages. Reports each result that was dropped because it has no place, and each that
 * must move to its call.
 */
export function arrangeMessages(
  messages: readonly BaseMessage[],
  callsOfHead: CallsOfHead,
  report: (repair: Repair) => void,
): readonly Group[] {
  const { groups, orphans, duplicates } = groupMessages(messages, callsOfHead);
  for (const message of orphans) report(createRepair({ kind: "orphan-refused", message }));
  for (const message of duplicates) report(createRepair({ kind: "duplicate-refused", message }));
  const placed = withoutEach(messages, [...orphans, ...duplicates]);
  for (const [index, message] of flattenGroups(groups).entries()) {
    if (isResult(message) && placed[index] !== message)
      report(createRepair({ kind: "result-moved", message }));
  }
  return groups;
}

/** A list can hold the same object twice. Its last occurrences are removed. */
function withoutEach(
  messages: readonly BaseMessage[],
  refused: readonly BaseMessage[],
): readonly BaseMessage[] {
  if (refused.length === 0) return messages;
  const counts = new Map<BaseMessage, number>();
  for (const message of refused) counts.set(message, (counts.get(message) ?? 0) + 1);
  return messages
    .toReversed()
    .filter((message) => {
      const count = counts.get(message) ?? 0;
      if (count > 0) counts.set(message, count - 1);
      return count === 0;
    })
    .toReversed();
}
