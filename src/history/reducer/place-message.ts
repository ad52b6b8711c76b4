/** Rules 8 and 12 of the reducer: where a new message that is not a result goes, and what a summary archives. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { coverageOf } from "../messages/summary.js";
import type { Draft } from "./draft.js";
import { groupBefore } from "./group-before.js";
import { withId } from "./identify.js";
import { placeResult } from "./place-result.js";
import type { Report } from "./remove-message.js";

/**
 * Applies rule 8 to a summary and rule 12 to a recovered message. Appends any other message.
 *
 * @param after The message that a recovered message follows.
 */
export function placeMessage(
  draft: Draft,
  message: BaseMessage,
  after: string | undefined,
  report: Report,
): void {
  const before = groupBefore(draft, message, after);
  if (before === undefined) {
    draft.append(withId(draft, message, draft.lastId()));
    return;
  }
  const previous = before === "start" ? undefined : before;
  const next = previous === undefined ? draft.first() : previous.next;
  const place = next === undefined ? draft.lastId() : `${previous?.head.id ?? ""}\n${next.head.id ?? ""}`;
  draft.insertAfter(previous, withId(draft, message, place));
  archiveCovered(draft, message, undefined, report);
}

/**
 * Everything that a new summary names leaves the history. A summary that replaces another one removes only what
 * the other one did not name, because the rest may have come back since. A result of an archived call that the
 * summary does not name arrived meanwhile. It stays, after the summary.
 */
export function archiveCovered(
  draft: Draft,
  summary: BaseMessage,
  former: BaseMessage | undefined,
  report: Report,
): void {
  const coverage = coverageOf(summary);
  if (coverage?.kind !== "archive") return;
  const formerCoverage = former === undefined ? undefined : coverageOf(former);
  const alreadyArchived = new Set(formerCoverage?.kind === "archive" ? formerCoverage.messages : []);
  const covered = new Set(coverage.messages.filter((id) => !alreadyArchived.has(id)));
  const unnamedResults: ToolMessage[] = [];
  for (const id of covered) {
    const place = id === summary.id ? undefined : draft.find(id);
    if (place === undefined) continue;
    const { group, call } = place;
    if (call !== undefined) {
      draft.setResult({ group, call }, undefined);
      continue;
    }
    for (const result of group.results)
      if (result !== undefined && !covered.has(result.id ?? "")) unnamedResults.push(result);
    draft.removeGroup(group);
  }
  for (const result of unnamedResults) placeResult(draft, result, undefined, report);
}
