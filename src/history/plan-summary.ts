/** When a history needs a summary, and which part the summary covers. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { awaitedAmong } from "./awaited-calls.js";
import { findSafeCutoff, safeCuts } from "./cut.js";
import { type Group, groupMessages } from "./group.js";
import { type InputLength, type InputOverhead, isWholeInput, measureInput } from "./measure.js";
import { surveyOf } from "./open-calls.js";
import { callIdOf, isPlaceholder } from "./result.js";
import { sumTokens } from "./size.js";
import { archiveOf, type Coverage, coverageOf, isUserMessage } from "./summary.js";
import { type VisibleHistory, visibleHistory } from "./visible-history.js";

export interface SummaryPolicy extends InputOverhead {
  /** A longer model input needs a summary; 0 disables this limit. */
  readonly maxTokensBeforeSummary: number;
  /**
   * More messages than this need a summary; 0 disables this limit. System messages and summaries do not
   * count.
   */
  readonly maxMessagesBeforeSummary: number;
  /** How many messages stay unsummarised, if the budget allows it. */
  readonly messagesToKeep: number;
  /** How many tokens stay unsummarised, instead of a number of messages. */
  readonly tokensToKeep: number | undefined;
}

export interface SummaryPlan {
  /** The existing summaries, which the new one replaces. */
  readonly summaries: readonly BaseMessage[];
  /** Results that arrived after their calls were covered. */
  readonly lateResults: readonly ToolMessage[];
  readonly covered: readonly BaseMessage[];
  /** The messages after those. */
  readonly kept: readonly BaseMessage[];
  /** The tokens that are covered for the first time, as the provider counts them. */
  readonly gain: number;
}

/**
 * After a summary the input takes at most this share of the budget, if possible. The next summary is due only after the
 * input has grown again, so one long turn is not summarised at every step. The summary itself can take as much again.
 */
export const TARGET = 0.5;
/** The covered messages must be worth a request to the summariser: at least this share of the budget. */
const LEAST_GAIN = 0.1;

export function isSummaryDue(history: readonly BaseMessage[], policy: SummaryPolicy): boolean {
  const { maxTokensBeforeSummary: mostTokens, maxMessagesBeforeSummary: mostMessages } = policy;
  const isTooLong = mostTokens > 0 && measureInput(history, policy).tokens > mostTokens;
  return isTooLong || (mostMessages > 0 && countVisible(history, policy) > mostMessages);
}

/** How many messages the model sees, without system messages and summaries. */
function countVisible(history: readonly BaseMessage[], { compactedAt }: InputOverhead): number {
  const survey = surveyOf(history);
  if (compactedAt === undefined && isWholeInput(history, survey)) return history.length - survey.systems;
  const { rest } = visibleHistory(history);
  return rest.length - (compactedAt?.(rest) ?? 0);
}

/**
 * Plans the next summary. Returns undefined if nothing can be covered, or too little to be worth it. It never covers
 * system messages, the user's current request, or a last message or group that the model has yet to respond to.
 */
export function planSummary(history: readonly BaseMessage[], policy: SummaryPolicy): SummaryPlan | undefined {
  const visible = visibleHistory(history);
  const { summaries, lateResults, rest } = visible;
  const request = rest.findLast(isUserMessage);
  // What the provider has compacted needs no summary.
  const compacted = policy.compactedAt?.(rest) ?? 0;
  const length = measureInput(history, policy);
  const cutoff = chooseCutoff(visible, request, compacted, policy, length);
  if (compacted > 0 && cutoff <= compacted) return undefined;
  const covered = rest.slice(0, cutoff).filter((message) => message !== request);
  const gain = (sumTokens(covered) + sumTokens(lateResults)) * length.ratio;
  const isDueByLength =
    policy.maxMessagesBeforeSummary > 0 &&
    rest.length - compacted > policy.maxMessagesBeforeSummary &&
    covered.length > 0;
  if (gain === 0 || (!isDueByLength && gain < policy.maxTokensBeforeSummary * LEAST_GAIN)) return undefined;
  return { summaries, lateResults, covered, kept: rest.slice(cutoff), gain };
}

/** The requested cutoff, or a later one if the rest would still be too long. */
function chooseCutoff(
  { summaries, lateResults, rest }: VisibleHistory,
  request: BaseMessage | undefined,
  compacted: number,
  policy: SummaryPolicy,
  { tokens, ratio }: InputLength,
): number {
  const isSafe = safeCuts(rest);
  // If the request is the last message, only it needs a response. It always stays.
  const latest = rest.at(-1) === request ? rest.length : isSafe.lastIndexOf(true, rest.length - 1);
  const wanted = Math.min(Math.max(findSafeCutoff(rest, keepOf(policy, ratio)), compacted), latest);
  if (policy.maxTokensBeforeSummary === 0) return wanted;
  // What is covered leaves the input, and the rest stays as the provider counted it.
  const excess = (tokens - policy.maxTokensBeforeSummary * TARGET) / ratio;
  const budget = sumTokens([...summaries, ...lateResults, ...rest.slice(compacted)]) - excess;
  const requestTokens = request === undefined ? 0 : sumTokens([request]);
  const isCoverable = (index: number) => rest[index] !== request;
  let stays = requestTokens + sumTokens(rest.slice(wanted).filter((message) => message !== request));
  for (let cutoff = wanted; cutoff < latest; cutoff += 1) {
    if (isSafe[cutoff] && stays <= budget) return cutoff;
    if (isCoverable(cutoff)) stays -= sumTokens(rest.slice(cutoff, cutoff + 1));
  }
  return Math.max(latest, 0);
}

/** With a message limit, fewer messages are kept than the number that makes a summary due. */
function keepOf(
  { messagesToKeep, tokensToKeep, maxMessagesBeforeSummary: maxMessages }: SummaryPolicy,
  ratio: number,
) {
  if (tokensToKeep !== undefined) return { tokens: Math.floor(tokensToKeep / ratio) };
  const most = maxMessages > 0 ? Math.max(Math.floor(maxMessages * TARGET), 1) : messagesToKeep;
  return { messages: Math.min(messagesToKeep, most) };
}

/**
 * The messages that leave the history if a plan's summary archives what it covers. Messages that earlier summaries kept
 * in the state leave with them, or they would become visible again. A foreign summary can name system messages, which
 * stay.
 */
export function leavingWith(plan: SummaryPlan, history: readonly BaseMessage[]): BaseMessage[] {
  const named = namedBy(plan);
  const known = new Map(history.map((message) => [message.id ?? "", message]));
  const kept = new Set<BaseMessage>();
  const summaries = [...plan.summaries];
  for (const summary of summaries) {
    for (const id of keptBy(summary)) {
      const message = known.get(id);
      if (message === undefined || message.type === "system" || kept.has(message)) continue;
      kept.add(message);
      summaries.push(message);
    }
  }
  return history.filter((message) => named.has(message) || kept.has(message));
}

function keptBy(summary: BaseMessage): readonly string[] {
  const coverage = coverageOf(summary);
  return coverage?.kind === "keep" ? coverage.messages : [];
}

function namedBy({ summaries, lateResults, covered }: SummaryPlan): ReadonlySet<BaseMessage> {
  return new Set<BaseMessage>([...summaries, ...lateResults, ...covered]);
}

/**
 * The new summary's coverage, in the history's order.
 *
 * @param checkpoint The checkpoint that has what leaves the history. Undefined: everything stays in it.
 */
export function coverPlan(
  plan: SummaryPlan,
  history: readonly BaseMessage[],
  checkpoint: string | undefined,
): Coverage {
  const asOf = history.at(-1)?.id;
  if (checkpoint === undefined) {
    const named = namedBy(plan);
    return { kind: "keep", asOf, messages: idsOf(history.filter((message) => named.has(message))) };
  }
  const leaving = leavingWith(plan, history);
  // A summary that kept what it covers can cover an earlier one with an archive.
  const summaries = leaving.filter((message) => coverageOf(message) !== undefined);
  const all = summaries.length === 0 ? [] : groupMessages(history).groups;
  const held = all.filter(({ head }) => summaries.includes(head));
  const late = [...plan.lateResults, ...held.flatMap(({ results }) => results.filter(isAnswer))];
  const answered = new Set(late.map((result) => result && callIdOf(result)));
  const takenOver = summaries.flatMap(unansweredOf).filter((id) => !answered.has(id));
  const awaited = awaitedAmong(leaving, plan.lateResults, history);
  const { groups } = groupMessages(leaving.filter((message) => coverageOf(message) === undefined));
  const calls = groups.flatMap((group) => group.calls.map(({ id }) => id));
  const unanswered = groups.flatMap((group) =>
    group.calls.flatMap(({ id }, index) => (isAnswer(group.results[index]) ? [] : [id])),
  );
  return {
    kind: "archive",
    checkpoint,
    asOf,
    messages: idsOf(leaving),
    calls: [...takenOver, ...heldOpen(held), ...calls],
    unanswered: [...takenOver, ...unanswered],
    ...(awaited.length > 0 && { awaited }),
  };
}

function idsOf(messages: readonly BaseMessage[]): string[] {
  return messages.flatMap(({ id }) => id ?? []);
}

function unansweredOf(summary: BaseMessage): readonly string[] {
  const archived = archiveOf(summary);
  return archived?.unanswered ?? archived?.calls ?? [];
}

/**
 * The calls of earlier summaries that count as answered and whose placeholder is in the history. The placeholder is not
 * covered, because nobody sees it. The new summary names its call, so that the placeholder has a place.
 */
function heldOpen(held: readonly Group[]): string[] {
  return held.flatMap(({ calls, results }) =>
    calls.flatMap(({ id, kind }, index) => {
      const result = results[index];
      return kind === "answered" && result !== undefined && isPlaceholder(result) ? [id] : [];
    }),
  );
}

function isAnswer(result: BaseMessage | undefined): boolean {
  return result !== undefined && !isPlaceholder(result);
}
