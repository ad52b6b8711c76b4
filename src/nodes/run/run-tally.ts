/** Counts of one run, for its `run-end` event and for the budgets of its turn and its thread. */

import type { AIMessage } from "@langchain/core/messages";
import { callsOf } from "../../history/messages/call.js";
import { isRecord } from "../../shared/is-record.js";
import { soundCount } from "../../shared/sound-count.js";
import type { RunEndEvent, TokenUsage } from "./run-end-event.js";

const NO_TOKENS: TokenUsage = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_token_details: { cache_read: 0, cache_creation: 0 },
  output_token_details: { reasoning: 0 },
};

export class RunTally {
  #calls = 0;
  #results = 0;
  #brokenAnswers = 0;
  #estimated = 0;
  readonly #models = new Map<string, TokenUsage>();

  /** Tokens of all requests and responses so far, with our estimate for those without usage numbers. */
  get tokens(): number {
    return this.#estimated + (this.#total?.total_tokens ?? 0);
  }

  /** Counts a response that is stored. */
  addAnswer(message: AIMessage): void {
    this.#calls += callsOf(message).length;
  }

  addResults(count: number): void {
    this.#results += count;
  }

  addBroken(): void {
    this.#brokenAnswers += 1;
  }

  /** Counts the tokens of a response, stored or not. */
  addUsage(model: string, usage: TokenUsage): void {
    this.#models.set(model, sum(this.#models.get(model) ?? NO_TOKENS, usage));
  }

  /** Counts the tokens of a request and a response without usage numbers. `run-end` does not contain estimates. */
  addEstimate(tokens: number): void {
    this.#estimated += tokens;
  }

  end(): RunEndEvent {
    const total = this.#total;
    return {
      type: "run-end",
      calls: this.#calls,
      results: this.#results,
      usedFallback: this.#brokenAnswers > 0,
      ...(total !== undefined && { usage: { ...total, models: Object.fromEntries(this.#models) } }),
    };
  }

  get #total(): TokenUsage | undefined {
    return this.#models.size === 0 ? undefined : [...this.#models.values()].reduce(sum, NO_TOKENS);
  }
}

/**
 * What a provider reports of a request and its response. Undefined if it reports nothing, or a number of tokens that
 * cannot be: a budget must not grow by what it counts.
 */
export function readTokens(usage: unknown): TokenUsage | undefined {
  if (!isRecord(usage)) return undefined;
  const { input_token_details: input, output_token_details: output } = usage;
  const [input_tokens, output_tokens, total] = ["input_tokens", "output_tokens", "total_tokens"].map((name) =>
    soundCount(usage[name] ?? 0),
  );
  if (input_tokens === undefined || output_tokens === undefined || total === undefined) return undefined;
  // Some clients leave out the total.
  const total_tokens = Math.max(total, input_tokens + output_tokens);
  if (total_tokens === 0) return undefined;
  const detail = (details: unknown, name: string): number =>
    (isRecord(details) ? soundCount(details[name]) : undefined) ?? 0;
  return {
    input_tokens,
    output_tokens,
    total_tokens,
    input_token_details: {
      cache_read: detail(input, "cache_read"),
      cache_creation: detail(input, "cache_creation"),
    },
    output_token_details: { reasoning: detail(output, "reasoning") },
  };
}

function sum(one: TokenUsage, other: TokenUsage): TokenUsage {
  const { input_token_details: input, output_token_details: output } = other;
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
    input_token_details: {
      cache_read: one.input_token_details.cache_read + input.cache_read,
      cache_creation: one.input_token_details.cache_creation + input.cache_creation,
    },
    output_token_details: { reasoning: one.output_token_details.reasoning + output.reasoning },
  };
}
