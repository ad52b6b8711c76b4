/** Decides what part of a history to summarise. Pure: it does not call the summariser. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { surveyOf } from "../following/survey.js";
import { isUserMessage } from "../messages/summary.js";
import { findSafeCutoff, safeCuts } from "./find-safe-cutoff.js";
import { type InputOverhead, isWholeInput, measureInput, sumTokens } from "./measure-input.js";
import { type VisibleHistory, visibleHistory } from "./visible-history.js";

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
  return policy.maxMessages > 0 && countVisible(history) > policy.maxMessages;
}

/** How many messages the model sees, without system messages and summaries. */
function countVisible(history: readonly BaseMessage[]): number {
  return isWholeInput(history)
    ? history.length - surveyOf(history).systems.length
    : visibleHistory(history).rest.length;
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
  const covered = rest
    .slice(0, chooseCutoff(visible, request, policy))
    .filter((message) => message !== request);
  const gain = sumTokens(covered) + sumTokens(lateResults);
  const isDueByLength = policy.maxMessages > 0 && rest.length > policy.maxMessages && covered.length > 0;
  if (gain === 0 || (!isDueByLength && gain < policy.maxTokens * LEAST_GAIN)) return undefined;
  return { summaries, lateResults, covered };
}

/** The requested cutoff, or a later one if the rest would still be too long. */
function chooseCutoff(
  { system, rest }: VisibleHistory,
  request: BaseMessage | undefined,
  policy: SummaryPolicy,
): number {
  const isSafe = safeCuts(rest);
  // If the request is the last message, it is the only one that needs a response. It stays in any case.
  const latest = rest.at(-1) === request ? rest.length : isSafe.lastIndexOf(true, rest.length - 1);
  const wanted = Math.min(findSafeCutoff(rest, keepOf(policy)), latest);
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
