import type { BaseMessage } from "@langchain/core/messages";
import { coverageOf } from "../messages/summary.js";
import type { Draft } from "./draft.js";
import type { DraftGroup } from "./group-list.js";

/**
 * The group that a new message follows if it is not appended: rules 8 and 12. `"start"`: none, as it is the first
 * of the history. Undefined for a message that is appended.
 *
 * @param after The message that a recovered message follows.
 */
export function groupBefore(
  draft: Draft,
  message: BaseMessage,
  after: string | undefined,
): DraftGroup | "start" | undefined {
  const coverage = coverageOf(message);
  if (coverage !== undefined)
    return lastCovered(draft, coverage.messages) ?? lastLeadingSystem(draft) ?? "start";
  if (after === undefined) return undefined;
  return after === "" ? "start" : draft.find(after)?.group;
}

function lastCovered(draft: Draft, covered: readonly string[]): DraftGroup | undefined {
  let last: DraftGroup | undefined;
  for (const id of covered) {
    const group = draft.find(id)?.group;
    if (group !== undefined && (last === undefined || group.order > last.order)) last = group;
  }
  return last;
}

function lastLeadingSystem(draft: Draft): DraftGroup | undefined {
  let system: DraftGroup | undefined;
  for (let next = draft.first(); next?.head.type === "system"; next = next.next) system = next;
  return system;
}
