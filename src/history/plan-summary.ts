/** What part of a history a summary covers, what the model sees then, and how long that is. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { filterToolCalls, findSafeCutoff, safeCuts, type ToolCallsToKeep } from "./cut.js";
import { createMemo } from "./follow-list.js";
import { groupMessages } from "./group.js";
import { contentText, madeOf } from "./message.js";
import { type Survey, surveyOf } from "./open-calls.js";
import { callIdOf, isPlaceholder } from "./result.js";
import { countTokens, sumTokens, usageOf } from "./size.js";
import { archiveOf, type Coverage, coverageOf, createSummaryNote, isUserMessage } from "./summary.js";

export interface SummaryPolicy extends InputOverhead {
  /** A longer model input needs a summary; 0 disables this limit. */
  readonly maxTokens: number;
  /**
   * More messages than this need a summary; 0 disables this limit. System messages and summaries do not
   * count.
   */
  readonly maxMessages: number;
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
}

/**
 * After a summary the input takes at most this share of the budget, if possible. The next summary is due only
 * when the input has grown again, so one long turn is not summarised at every step. The summary itself can
 * take as much again.
 */
export const TARGET = 0.5;
/** The covered messages must be worth a request to the summariser: at least this share of the budget. */
const LEAST_GAIN = 0.1;

export function isSummaryDue(history: readonly BaseMessage[], policy: SummaryPolicy): boolean {
  if (policy.maxTokens > 0 && measureInput(history, policy) > policy.maxTokens) return true;
  return policy.maxMessages > 0 && countVisible(history, policy) > policy.maxMessages;
}

/** How many messages the model sees, without system messages and summaries. */
function countVisible(history: readonly BaseMessage[], { compactedAt }: InputOverhead): number {
  if (compactedAt === undefined && isWholeInput(history)) return history.length - surveyOf(history).systems;
  const { rest } = visibleHistory(history);
  return rest.length - (compactedAt?.(rest) ?? 0);
}

/**
 * Plans the next summary. Returns undefined if nothing can be covered, or too little to be worth it. Three
 * kinds of messages are never covered: system messages, the user's current request, and the last message or
 * group if the model has yet to respond to it.
 */
export function planSummary(history: readonly BaseMessage[], policy: SummaryPolicy): SummaryPlan | undefined {
  const visible = visibleHistory(history);
  const { summaries, lateResults, rest } = visible;
  const request = rest.findLast(isUserMessage);
  // What the provider has compacted needs no summary.
  const compacted = policy.compactedAt?.(rest) ?? 0;
  const cutoff = chooseCutoff(visible, request, compacted, policy);
  if (compacted > 0 && cutoff <= compacted) return undefined;
  const covered = rest.slice(0, cutoff).filter((message) => message !== request);
  const gain = sumTokens(covered) + sumTokens(lateResults);
  const isDueByLength =
    policy.maxMessages > 0 && rest.length - compacted > policy.maxMessages && covered.length > 0;
  if (gain === 0 || (!isDueByLength && gain < policy.maxTokens * LEAST_GAIN)) return undefined;
  return { summaries, lateResults, covered, kept: rest.slice(cutoff) };
}

/** The requested cutoff, or a later one if the rest would still be too long. */
function chooseCutoff(
  { system, rest }: VisibleHistory,
  request: BaseMessage | undefined,
  compacted: number,
  policy: SummaryPolicy,
): number {
  const isSafe = safeCuts(rest);
  // If the request is the last message, it is the only one that needs a response. It stays in any case.
  const latest = rest.at(-1) === request ? rest.length : isSafe.lastIndexOf(true, rest.length - 1);
  const wanted = Math.min(Math.max(findSafeCutoff(rest, keepOf(policy)), compacted), latest);
  const budget = policy.maxTokens * TARGET - policy.toolTokens - policy.promptTokens - sumTokens(system);
  if (policy.maxTokens === 0) return wanted;
  const requestTokens = request === undefined ? 0 : sumTokens([request]);
  const isCoverable = (index: number) => rest[index] !== request;
  let stays = requestTokens + sumTokens(rest.slice(wanted).filter((message) => message !== request));
  for (let cutoff = wanted; cutoff < latest; cutoff += 1) {
    if (isSafe[cutoff] && stays <= budget) return cutoff;
    if (isCoverable(cutoff)) stays -= sumTokens(rest.slice(cutoff, cutoff + 1));
  }
  return Math.max(latest, 0);
}

/** With a message limit, the kept messages must be fewer than the number that makes a summary due. */
function keepOf({ messagesToKeep, tokensToKeep, maxMessages }: SummaryPolicy) {
  if (tokensToKeep !== undefined) return { tokens: tokensToKeep };
  const most = maxMessages > 0 ? Math.max(Math.floor(maxMessages * TARGET), 1) : messagesToKeep;
  return { messages: Math.min(messagesToKeep, most) };
}

/*
 * Measures the length of a model input, as far as it is known.
 */

interface InputOverhead {
  /** Tokens of the tools' schemas. They are part of every request, as is the system prompt. */
  readonly toolTokens: number;
  readonly promptTokens: number;
  /** How many calls of earlier turns are sent; undefined sends all. */
  readonly maxToolCalls: ToolCallsToKeep | undefined;
  /**
   * Contract: returns the index of the first message that the model reads of these. The provider has compacted the others
   * by itself. Undefined: it reads all.
   */
  readonly compactedAt?: ((messages: readonly BaseMessage[]) => number) | undefined;
}

/** Usage numbers below this share of the estimate belong to another, shorter input. */
const LEAST_PLAUSIBLE = 0.2;

/**
 * Tokens of the model input for this history. If a response carries the provider's usage numbers, these
 * replace the estimate up to the last such response. Responses from before the latest summary do not count,
 * and neither do numbers that are far below the estimate: they belong to another input.
 */
export function measureInput(history: readonly BaseMessage[], overhead: InputOverhead): number {
  const { toolTokens, promptTokens, maxToolCalls, compactedAt } = overhead;
  const all = isWholeInput(history) ? history : flattenVisible(visibleHistory(history));
  const cut = compactedAt?.(all) ?? 0;
  const visible = cut === 0 ? all : all.filter(({ type }, index) => index >= cut || type === "system");
  const input = maxToolCalls === undefined ? visible : filterToolCalls(visible, maxToolCalls);
  const { tokens, measured } =
    input === history ? surveyOf(history) : lengthOf(input, history, cut === 0 ? undefined : all[cut]);
  const estimate = toolTokens + promptTokens + tokens;
  if (measured === undefined) return estimate;
  const since = tokens - measured.tokens;
  return measured.usage >= (estimate - since) * LEAST_PLAUSIBLE ? measured.usage + since : estimate;
}

/** Whether the model sees each message of the history, in the same order. */
function isWholeInput(history: readonly BaseMessage[]): boolean {
  const { odd, summaries, paired, systems, leadingSystems } = surveyOf(history);
  return odd === 0 && summaries === 0 && systems === leadingSystems && paired === history.length;
}

/** The tokens of an input that is not the whole history, and the usage numbers that belong to it. */
function lengthOf(
  input: readonly BaseMessage[],
  history: readonly BaseMessage[],
  compacted: BaseMessage | undefined,
): Pick<Survey, "tokens" | "measured"> {
  // A message that has fewer calls than the history's is a copy, and its numbers are those of another input. So are
  // those of the response in which the provider has compacted what was before.
  const trusted = new Set(history.slice(lastSummarised(history) + 1));
  let tokens = 0;
  let measured: Survey["measured"];
  for (const message of input) {
    tokens += countTokens(message);
    const usage = message === compacted || !trusted.has(message) ? 0 : usageOf(message);
    if (usage > 0) measured = { usage, tokens };
  }
  return { tokens, measured };
}

/** The position of the message that was last when the latest summary was made; -1 if there is no summary. */
function lastSummarised(history: readonly BaseMessage[]): number {
  const summary = history.findLast((message) => coverageOf(message) !== undefined);
  if (summary === undefined) return -1;
  const asOf = coverageOf(summary)?.asOf;
  const position = history.findLastIndex((message) => message.id === asOf);
  // That message is gone, so nothing says which responses are older. None is trusted.
  return position < 0 ? history.length : position;
}

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
  const archived = archiveOf(summary);
  return archived?.unanswered ?? archived?.calls ?? [];
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

/*
 * The part of a history that the model sees. Summarised messages are hidden, not deleted.
 */

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
    // No summary can take the place of a system message, whatever it names.
    if (head.type === "system") {
      system.push(head);
    } else if (!isVisible(head)) {
      lateResults.push(...visibleResults);
    } else if (coverageOf(head) !== undefined) {
      summaries.push(head);
      lateResults.push(...visibleResults);
    } else {
      rest.push(head, ...visibleResults);
    }
  }
  return { system, summaries, lateResults: lateResults.filter((result) => !isPlaceholder(result)), rest };
}

/** The visible history as one list. The call of a late result is hidden, so a text message tells the result. */
export function flattenVisible({ system, summaries, lateResults, rest }: VisibleHistory): BaseMessage[] {
  return [...system, ...summaries, ...lateResults.map(tellLateResult), ...rest];
}

/** The last summary that covers each message, by the message's id. A summary can be covered itself. */
export function coveringSummaries(history: readonly BaseMessage[]): ReadonlyMap<string, BaseMessage> {
  const covered = new Map<string, BaseMessage>();
  for (const message of history)
    for (const id of coverageOf(message)?.messages ?? []) covered.set(id, message);
  return covered;
}

/** Kept, so that the projection of the note need not begin again. */
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
