import type { BaseMessage } from "@langchain/core/messages";
import { groupMessages } from "../calls/group.js";
import { callIdOf, isPlaceholder } from "../messages/result.js";
import { type Coverage, coverageOf } from "../messages/summary.js";
import type { SummaryPlan } from "./plan-summary.js";

/** The coverage of the new summary, in the order of the history. */
export function coverPlan(
  plan: SummaryPlan,
  history: readonly BaseMessage[],
  kind: Coverage["kind"],
): Coverage {
  const named = new Set<BaseMessage>([...plan.summaries, ...plan.lateResults, ...plan.covered]);
  const asOf = history.at(-1)?.id;
  if (kind === "keep")
    return { kind, asOf, messages: idsOf(history.filter((message) => named.has(message))) };

  // Messages that an earlier summary kept in the state leave together with it. Otherwise they would become
  // visible again. A summary of other origin can name system messages. These stay.
  const kept = new Set(plan.summaries.flatMap((summary) => coverageOf(summary)?.messages ?? []));
  const leaving = history.filter(
    (message) => named.has(message) || (message.type !== "system" && kept.has(message.id ?? "")),
  );
  const last = history.lastIndexOf(leaving.at(-1) as BaseMessage);
  const order = idsOf(history.slice(0, last + 1).filter(({ type }) => type !== "system"));

  const answered = new Set(plan.lateResults.map(callIdOf));
  const takenOver = plan.summaries.flatMap(unansweredOf).filter((id) => !answered.has(id));
  const { groups } = groupMessages(leaving.filter((message) => coverageOf(message) === undefined));
  const calls = groups.flatMap((group) => group.calls.map(({ id }) => id));
  const unanswered = groups.flatMap((group) =>
    group.calls.flatMap(({ id }, index) => (isAnswer(group.results[index]) ? [] : [id])),
  );
  return {
    kind,
    asOf,
    messages: idsOf(leaving),
    order,
    calls: [...takenOver, ...heldOpen(plan.summaries, history), ...calls],
    unanswered: [...takenOver, ...unanswered],
  };
}

function idsOf(messages: readonly BaseMessage[]): string[] {
  return messages.flatMap(({ id }) => id ?? []);
}

function unansweredOf(summary: BaseMessage): readonly string[] {
  const coverage = coverageOf(summary);
  return coverage?.kind === "archive" ? (coverage.unanswered ?? coverage.calls) : [];
}

/**
 * The calls of earlier summaries that count as answered and whose placeholder is in the history. The placeholder is
 * not covered, because nobody is shown it. The new summary names its call, so that it has a place there.
 */
function heldOpen(summaries: readonly BaseMessage[], history: readonly BaseMessage[]): string[] {
  if (summaries.length === 0) return [];
  const isSummary = new Set(summaries);
  const groups = groupMessages(history).groups.filter(({ head }) => isSummary.has(head));
  return groups.flatMap(({ calls, results }) =>
    calls.flatMap(({ id, kind }, index) => {
      const result = results[index];
      return kind === "answered" && result !== undefined && isPlaceholder(result) ? [id] : [];
    }),
  );
}

function isAnswer(result: BaseMessage | undefined): boolean {
  return result !== undefined && !isPlaceholder(result);
}
