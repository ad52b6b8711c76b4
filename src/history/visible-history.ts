/** What of a history the model is shown: what summaries cover is left out, and stands in the history all the same. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { contentText } from "./content-text.js";
import { groupMessages } from "./group.js";
import { callIdOf, isPlaceholder } from "./result.js";
import { coverageOf, createSummaryNote } from "./summary.js";

export interface VisibleHistory {
  readonly system: readonly BaseMessage[];
  /** Summaries that no other summary covers; at most one in a thread that this library has summarised. */
  readonly summaries: readonly BaseMessage[];
  /** Results of covered calls that came after their summary was made. */
  readonly lateResults: readonly ToolMessage[];
  /** Everything else, in order, with the groups whole. */
  readonly rest: readonly BaseMessage[];
}

export function visibleHistory(history: readonly BaseMessage[]): VisibleHistory {
  const covered = coveredIds(history);
  const isVisible = (message: BaseMessage): boolean => message.id === undefined || !covered.has(message.id);
  const system: BaseMessage[] = [];
  const summaries: BaseMessage[] = [];
  const lateResults: ToolMessage[] = [];
  const rest: BaseMessage[] = [];
  for (const { head, results } of groupMessages(history).groups) {
    const visibleResults = results.filter((result) => result !== undefined).filter(isVisible);
    if (!isVisible(head)) {
      lateResults.push(...visibleResults);
    } else if (head.type === "system") {
      system.push(head);
    } else if (coverageOf(head) !== undefined) {
      summaries.push(head);
      lateResults.push(...visibleResults);
    } else {
      rest.push(head, ...visibleResults);
    }
  }
  return { system, summaries, lateResults: lateResults.filter((result) => !isPlaceholder(result)), rest };
}

/** The visible history as one list. A late result has no call beside it any more, so it is told in words. */
export function flattenVisible({ system, summaries, lateResults, rest }: VisibleHistory): BaseMessage[] {
  return [...system, ...summaries, ...lateResults.map(tellLateResult), ...rest];
}

/** What summaries of the history cover, also those that are covered themselves. */
function coveredIds(history: readonly BaseMessage[]): ReadonlySet<string> {
  const covered = new Set<string>();
  for (const message of history) for (const id of coverageOf(message)?.messages ?? []) covered.add(id);
  return covered;
}

const notes = new WeakMap<ToolMessage, BaseMessage>();

/** The same message object each time, so that what is known of it (its tokens) is known once. */
function tellLateResult(result: ToolMessage): BaseMessage {
  const known = notes.get(result);
  if (known !== undefined) return known;
  const note = createSummaryNote(
    `The result of the earlier tool call ${result.name ?? ""} (${callIdOf(result)}) came after the summary:\n${contentText(result)}`,
  );
  notes.set(result, note);
  return note;
}
