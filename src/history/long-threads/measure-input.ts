/** Measures the length of a model input, as far as it is known. */

import type { BaseMessage } from "@langchain/core/messages";
import { soundCount } from "../../shared/sound-count.js";
import { createFollowing, type Follower } from "../following/follow-list.js";
import { type Place, Places } from "../following/places.js";
import { surveyOf } from "../following/survey.js";
import { isAIMessage } from "../messages/call.js";
import { coverageOf } from "../messages/summary.js";
import { lacksCalls } from "./call-filter.js";
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
  if (isWholeInput(history)) return measureWhole(history, overhead);
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

/** Whether the model sees each message of the history, in the same order. */
export function isWholeInput(history: readonly BaseMessage[]): boolean {
  const { odd, summaries, paired, systems } = surveyOf(history);
  return (
    odd === 0 &&
    summaries === 0 &&
    systems.every((place, index) => place === index) &&
    paired === history.length
  );
}

interface Total extends Place {
  readonly tokens: number;
  readonly measured: Measured | undefined;
}

const NOTHING: Total = { taken: 0, tokens: 0, measured: undefined };

/** The length of lists of messages, and the last usage numbers in them. */
class Length implements Follower {
  #total = NOTHING;
  readonly #places = new Places<Total>();

  get total(): Total {
    return this.#total;
  }

  take(message: BaseMessage, index: number): void {
    this.#places.add(this.#total);
    const { tokens: before, measured } = this.#total;
    const tokens = before + countTokens(message);
    const usage = usageOf(message);
    this.#total = { taken: index + 1, tokens, measured: usage > 0 ? { usage, tokens } : measured };
  }

  rewind(length: number): number {
    this.#total = this.#places.rewind(length) ?? NOTHING;
    return this.#total.taken;
  }
}

/** The usage numbers of a response, and the estimate up to it. */
interface Measured {
  readonly usage: number;
  readonly tokens: number;
}

const follow = createFollowing<Length>();

function measureWhole(
  history: readonly BaseMessage[],
  { toolTokens, promptTokens, maxToolCalls }: InputOverhead,
): number {
  const input = maxToolCalls === undefined ? history : filterToolCalls(history, maxToolCalls);
  const variant = input === history ? "whole" : "filtered";
  const { tokens, measured } = follow(input, variant, () => new Length()).total;
  const estimate = toolTokens + promptTokens + tokens;
  if (measured === undefined) return estimate;
  const since = tokens - measured.tokens;
  return measured.usage >= (estimate - since) * LEAST_PLAUSIBLE ? measured.usage + since : estimate;
}

export function sumTokens(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + countTokens(message), 0);
}

/** Tokens of the request and of its response together; 0 if the provider reported none. */
function usageOf(message: BaseMessage): number {
  // The numbers of a message with more calls.
  if (!isAIMessage(message) || lacksCalls(message)) return 0;
  const usage: { input_tokens?: unknown; output_tokens?: unknown } = message.usage_metadata ?? {};
  const input = soundCount(usage.input_tokens) ?? 0;
  return input === 0 ? 0 : input + (soundCount(usage.output_tokens) ?? 0);
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
