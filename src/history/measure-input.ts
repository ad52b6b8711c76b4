/** How long a model input is, as far as that is known. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "./call.js";
import { countTokens } from "./count-tokens.js";
import { filterToolCalls } from "./filter-tool-calls.js";
import { coverageOf } from "./summary.js";
import { flattenVisible, visibleHistory } from "./visible-history.js";

export interface InputOverhead {
  /** Tokens of the tools' schemas and of the system prompt, which are part of every request. */
  readonly toolTokens: number;
  readonly promptTokens: number;
  /** How many calls of earlier turns are sent; undefined: all. */
  readonly maxToolCalls: number | undefined;
}

/** Numbers that are less than this part of the estimate speak of another, shorter input. */
const LEAST_PLAUSIBLE = 0.2;

/**
 * Tokens of what the model would be sent for this history. Up to the last answer that carries the provider's usage
 * numbers those are taken instead of the estimate, unless the input has been another one since: a summary was made,
 * or one was undone.
 */
export function measureInput(history: readonly BaseMessage[], overhead: InputOverhead): number {
  const visible = flattenVisible(visibleHistory(history));
  const input =
    overhead.maxToolCalls === undefined ? visible : filterToolCalls(visible, overhead.maxToolCalls);
  const estimate = overhead.toolTokens + overhead.promptTokens + sumTokens(input);
  const trustedFrom = lastSummarised(history);
  if (trustedFrom >= history.length) return estimate;
  const trusted = new Set(history.slice(trustedFrom + 1));
  const measured = input.findLastIndex((message) => usageOf(message) > 0 && trusted.has(message));
  const answer = input[measured];
  if (answer === undefined) return estimate;
  const since = sumTokens(input.slice(measured + 1));
  const isPlausible = usageOf(answer) >= (estimate - since) * LEAST_PLAUSIBLE;
  return isPlausible ? usageOf(answer) + since : estimate;
}

export function sumTokens(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + countTokens(message), 0);
}

/** Tokens of the request that this message answered, and of the answer itself; 0 where the provider said nothing. */
function usageOf(message: BaseMessage): number {
  if (!isAIMessage(message)) return 0;
  const usage: { input_tokens?: unknown; output_tokens?: unknown } = message.usage_metadata ?? {};
  const { input_tokens, output_tokens } = usage;
  if (typeof input_tokens !== "number" || input_tokens <= 0) return 0;
  return input_tokens + (typeof output_tokens === "number" ? output_tokens : 0);
}

/** The position of the last message that stood in the history when its latest summary was made; -1 if none. */
function lastSummarised(history: readonly BaseMessage[]): number {
  const summary = history.findLast((message) => coverageOf(message) !== undefined);
  if (summary === undefined) return -1;
  const asOf = coverageOf(summary)?.asOf;
  const position = history.findLastIndex((message) => message.id === asOf);
  // The message is gone: nothing says which answers are older, so none is trusted.
  return position < 0 ? history.length : position;
}
