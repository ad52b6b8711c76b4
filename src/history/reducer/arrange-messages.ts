import type { BaseMessage } from "@langchain/core/messages";
import { type CallsOfHead, type Group, groupMessages, placesInGroups } from "../calls/group.js";
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
  const { groups, orphans, duplicates, refusedAt } = groupMessages(messages, callsOfHead);
  for (const message of orphans) report(createRepair({ kind: "orphan-refused", message }));
  for (const message of duplicates) report(createRepair({ kind: "duplicate-refused", message }));
  const placed = [...messages.keys()].filter((place) => !refusedAt.has(place));
  for (const [index, place] of placesInGroups(groups).entries()) {
    const message = messages[place];
    if (message !== undefined && isResult(message) && placed[index] !== place)
      report(createRepair({ kind: "result-moved", message }));
  }
  return groups;
}
