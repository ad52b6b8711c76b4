/** Decides what of a history is to be summarised. Pure: the summariser itself is not known here. */

import type { BaseMessage } from "@langchain/core/messages";
import { findSafeCutoff, safeCuts } from "./find-safe-cutoff.js";
import { measureInput, sumTokens } from "./measure-input.js";
import { isUserMessage } from "./summary.js";
import { flattenVisible, visibleHistory } from "./visible-history.js";

export interface SummaryPolicy {
  /** A longer model input is due for a summary. 0: never. */
  readonly maxTokens: number;
  /** So is one of more messages. 0: never. */
  readonly maxMessages: number;
  /** How many messages stay as they are, where the budget allows it. */
  readonly messagesToKeep: number;
  /** How many tokens stay, instead of a number of messages. */
  readonly tokensToKeep: number | undefined;
  /** Tokens of the tools' schemas and of the system prompt, which are part of every request. */
  readonly toolTokens: number;
  readonly promptTokens: number;
}

export interface SummaryPlan {
  /** The summaries so far with their late results, then the messages that they are joined by. */
  readonly previous: readonly BaseMessage[];
  readonly covered: readonly BaseMessage[];
}

/**
 * After a summary the input is at most this part of the budget where that is possible, so that the next one is due
 * only when as much has come again: one long turn is not summarised at every step.
 */
const TARGET = 0.5;
/** What is covered must be worth a call of the summariser: at least this part of the budget. */
const LEAST_GAIN = 0.1;

export function overheadOf({ toolTokens, promptTokens }: SummaryPolicy): number {
  return toolTokens + promptTokens;
}

export function isSummaryDue(history: readonly BaseMessage[], policy: SummaryPolicy): boolean {
  if (policy.maxTokens > 0 && measureInput(history, overheadOf(policy)) > policy.maxTokens) return true;
  return policy.maxMessages > 0 && flattenVisible(visibleHistory(history)).length > policy.maxMessages;
}

/**
 * What a summary would cover; undefined if nothing can be covered, or nothing that is worth it. Never covered are
 * system messages, the current request of the user, and the last message or group, which is still to be answered.
 */
export function planSummary(history: readonly BaseMessage[], policy: SummaryPolicy): SummaryPlan | undefined {
  const { system, summaries, lateResults, rest } = visibleHistory(history);
  const request = rest.findLast(isUserMessage);
  const candidates = rest.filter((message) => message !== request);
  const fixed = overheadOf(policy) + sumTokens(system) + (request === undefined ? 0 : sumTokens([request]));
  const covered = candidates.slice(0, chooseCutoff(candidates, fixed, policy));
  if (covered.length === 0) return undefined;
  const isDueByLength = policy.maxMessages > 0 && rest.length > policy.maxMessages;
  if (!isDueByLength && sumTokens(covered) < policy.maxTokens * LEAST_GAIN) return undefined;
  return { previous: [...summaries, ...lateResults], covered };
}

/** The wanted cutoff, or a later one if what stays would still be too long. */
function chooseCutoff(candidates: readonly BaseMessage[], fixed: number, policy: SummaryPolicy): number {
  const { messagesToKeep, tokensToKeep, maxTokens } = policy;
  const keep = tokensToKeep === undefined ? { messages: messagesToKeep } : { tokens: tokensToKeep };
  const wanted = findSafeCutoff(candidates, keep);
  if (maxTokens === 0 || fixed + sumTokens(candidates.slice(wanted)) <= maxTokens * TARGET) return wanted;
  const isSafe = safeCuts(candidates);
  const latest = isSafe.lastIndexOf(true, candidates.length - 1);
  let stays = sumTokens(candidates.slice(wanted));
  for (let cutoff = wanted; cutoff < latest; cutoff += 1) {
    if (isSafe[cutoff] && fixed + stays <= maxTokens * TARGET) return cutoff;
    stays -= sumTokens(candidates.slice(cutoff, cutoff + 1));
  }
  return Math.max(latest, wanted, 0);
}
