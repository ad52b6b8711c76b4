/** The part of a history that the model sees. Summarised messages are hidden, not deleted. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { createMemo } from "./follow-list.js";
import { groupMessages } from "./group.js";
import { contentText, madeOf } from "./message.js";
import { callIdOf, isPlaceholder } from "./result.js";
import { coverageOf, createSummaryNote } from "./summary.js";

export interface VisibleHistory {
  readonly system: readonly BaseMessage[];
  /** Summaries that no other summary covers. A thread that only this library summarised has at most one. */
  readonly summaries: readonly BaseMessage[];
  /** Results that arrived after their call was covered by a summary. */
  readonly lateResults: readonly ToolMessage[];
  /** Everything else, in order. Groups are complete. */
  readonly rest: readonly BaseMessage[];
}

export function visibleHistory(history: readonly BaseMessage[]): VisibleHistory {
  const covered = coveringSummaries(history);
  const isVisible = (message: BaseMessage): boolean => message.id === undefined || !covered.has(message.id);
  const system: BaseMessage[] = [];
  const summaries: BaseMessage[] = [];
  const lateResults: ToolMessage[] = [];
  const rest: BaseMessage[] = [];
  for (const { head, results } of groupMessages(history).groups) {
    const visibleResults = results.filter((result) => result !== undefined).filter(isVisible);
    // No summary can replace a system message, whatever it names.
    if (head.type === "system") {
      system.push(head);
    } else if (!isVisible(head)) {
      for (const result of visibleResults) lateResults.push(result);
    } else if (coverageOf(head) !== undefined) {
      summaries.push(head);
      for (const result of visibleResults) lateResults.push(result);
    } else {
      rest.push(head);
      for (const result of visibleResults) rest.push(result);
    }
  }
  return { system, summaries, lateResults: lateResults.filter((result) => !isPlaceholder(result)), rest };
}

/** The visible history as one list. A late result's call is hidden, so a text message tells the result. */
export function flattenVisible({ system, summaries, lateResults, rest }: VisibleHistory): BaseMessage[] {
  return [...system, ...summaries, ...lateResults.map(tellLateResult), ...rest];
}

/**
 * The last summary that covers each message, by message id. A summary can itself be covered. What was archived has left
 * the history. So a message after the summary with such an id is a different one: response ids can repeat.
 */
export function coveringSummaries(history: readonly BaseMessage[]): ReadonlyMap<string, BaseMessage> {
  const covered = new Map<string, BaseMessage>();
  const before = new Set<string | undefined>();
  let seen = 0;
  for (const [index, message] of history.entries()) {
    const { kind, messages = [] } = coverageOf(message) ?? {};
    for (; kind === "archive" && seen < index; seen += 1) {
      const earlier = history[seen];
      // A model input begins with the system messages, which no summary covers.
      if (earlier?.type !== "system") before.add(earlier?.id);
    }
    for (const id of messages) if (kind === "keep" || before.has(id)) covered.set(id, message);
  }
  return covered;
}

/** Kept, so that the note need not be projected again. */
const notes = createMemo<BaseMessage>();

function tellLateResult(result: ToolMessage): BaseMessage {
  return notes(result, undefined, () =>
    madeOf(
      createSummaryNote(
        `The result of the earlier tool call ${result.name ?? ""} (${callIdOf(result)}) came after the summary:\n${contentText(result)}`,
      ),
      [result],
    ),
  );
}
