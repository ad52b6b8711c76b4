/** Measures the length of a model input, as far as it is known. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../messages/call.js";
import { coverageOf } from "../messages/summary.js";
import { countTokens } from "./count-tokens.js";
import { filterToolCalls, type ToolCallsToKeep } from "./filter-tool-calls.js";
import { flattenVisible, visibleHistory } from "./visible-history.js";

export interface InputOverhead {
  /** Tokens of the tools' schemas. They are part of every request, as is the system prompt. */
  readonly toolTokens: number;
  readonly promptTokens: number;
  /** How many calls of earlier turns are sent; undefined sends all. */
  readonly maxToolCalls: ToolCallsToKeep | undefined;
}

/** Usage numbers below this share of the estimate belong to another, shorter input. */
const LEAST_PLAUSIBLE = 0.2;

/**
 * Tokens of the model input for this history. If a response carries the provider's usage numbers, these
 * replace the estimate up to the last such response. Responses from before the latest summary do not count,
 * and neither do numbers that are far below the estimate: they belong to another input.
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

/** Tokens of the request and of its response together; 0 if the provider reported none. */
function usageOf(message: BaseMessage): number {
  if (!isAIMessage(message)) return 0;
  const usage: { input_tokens?: unknown; output_tokens?: unknown } = message.usage_metadata ?? {};
  const { input_tokens, output_tokens } = usage;
  if (typeof input_tokens !== "number" || input_tokens <= 0) return 0;
  return input_tokens + (typeof output_tokens === "number" ? output_tokens : 0);
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
