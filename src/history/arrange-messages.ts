import type { BaseMessage } from "@langchain/core/messages";
import { type CallsOfHead, flattenGroups, type Group, groupMessages } from "./group.js";
import { createRepair, type Repair } from "./repair.js";
import { isResult } from "./result.js";

/** The groups of a foreign list. Reports each result that has no place, and each that must move to its call. */
export function arrangeMessages(
  messages: readonly BaseMessage[],
  callsOfHead: CallsOfHead,
  report: (repair: Repair) => void,
): readonly Group[] {
  const { groups, orphans, duplicates } = groupMessages(messages, callsOfHead);
  for (const message of orphans) report(createRepair({ kind: "orphan-refused", message }));
  for (const message of duplicates) report(createRepair({ kind: "duplicate-refused", message }));
  const refused = new Set<BaseMessage>([...orphans, ...duplicates]);
  const placed = messages.filter((message) => !refused.has(message));
  for (const [index, message] of flattenGroups(groups).entries()) {
    if (isResult(message) && placed[index] !== message)
      report(createRepair({ kind: "result-moved", message }));
  }
  return groups;
}
