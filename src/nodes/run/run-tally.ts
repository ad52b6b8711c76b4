/** Counts of one run, for its `run-end` event and for the budgets of its turn and its thread. */

import type { AIMessage, UsageMetadata } from "@langchain/core/messages";
import { callsOf } from "../../history/messages/call.js";
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
  addUsage(model: string, usage: UsageMetadata): void {
    this.#models.set(model, sum(this.#models.get(model) ?? NO_TOKENS, read(usage)));
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

/** Some clients leave out the total. */
function read(usage: UsageMetadata): TokenUsage {
  const { input_tokens = 0, output_tokens = 0, input_token_details, output_token_details } = usage;
  return {
    input_tokens,
    output_tokens,
    total_tokens: usage.total_tokens || input_tokens + output_tokens,
    input_token_details: {
      cache_read: input_token_details?.cache_read ?? 0,
      cache_creation: input_token_details?.cache_creation ?? 0,
    },
    output_token_details: { reasoning: output_token_details?.reasoning ?? 0 },
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
