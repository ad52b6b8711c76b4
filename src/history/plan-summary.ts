/** Decides what of a history is to be summarised. Pure: the summariser itself is not known here. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { findSafeCutoff, safeCuts } from "./find-safe-cutoff.js";
import { type InputOverhead, measureInput, sumTokens } from "./measure-input.js";
import { isUserMessage } from "./summary.js";
import { type VisibleHistory, visibleHistory } from "./visible-history.js";

export interface SummaryPolicy extends InputOverhead {
  /** A longer model input is due for a summary. 0: never. */
  readonly maxTokens: number;
  /** So is one of more messages beside system messages and summaries. 0: never. */
  readonly maxMessages: number;
  /** How many messages stay as they are, where the budget allows it. */
  readonly messagesToKeep: number;
  /** How many tokens stay, instead of a number of messages. */
  readonly tokensToKeep: number | undefined;
}

export interface SummaryPlan {
  /** The summaries so far, which the new one takes the place of. */
  readonly summaries: readonly BaseMessage[];
  /** Results that came after their calls were covered. */
  readonly lateResults: readonly ToolMessage[];
  readonly covered: readonly BaseMessage[];
}

/**
 * After a summary the input is at most this part of the budget where that is possible, so that the next one is due
 * only when as much has come again: one long turn is not summarised at every step. A summary itself may be as long.
 */
export const TARGET = 0.5;
/** What is covered must be worth a call of the summariser: at least this part of the budget. */
const LEAST_GAIN = 0.1;

export function isSummaryDue(history: readonly BaseMessage[], policy: SummaryPolicy): boolean {
  if (policy.maxTokens > 0 && measureInput(history, policy) > policy.maxTokens) return true;
  return policy.maxMessages > 0 && visibleHistory(history).rest.length > policy.maxMessages;
}

/**
 * What a summary would cover; undefined if nothing can be covered, or nothing that is worth it. Never covered are
 * system messages, the current request of the user, and the last message or group where it is still to be answered.
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

/** The wanted cutoff, or a later one if what stays would still be too long. */
function chooseCutoff(
  { system, rest }: VisibleHistory,
  request: BaseMessage | undefined,
  policy: SummaryPolicy,
): number {
  const isSafe = safeCuts(rest);
  // A request that stands last is all that is to be answered, and it stays in any case.
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

/** With a limit of messages, fewer must stay than make a summary due again. */
function keepOf({ messagesToKeep, tokensToKeep, maxMessages }: SummaryPolicy) {
  if (tokensToKeep !== undefined) return { tokens: tokensToKeep };
  const most = maxMessages > 0 ? Math.max(Math.floor(maxMessages * TARGET), 1) : messagesToKeep;
  return { messages: Math.min(messagesToKeep, most) };
}
