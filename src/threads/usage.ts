/** What a run and a thread have used: tokens and tool calls. */

import {
  type AIMessage,
  type BaseMessage,
  mergeUsageMetadata,
  type UsageMetadata,
} from "@langchain/core/messages";
import { withLangGraph } from "@langchain/langgraph/zod";
import { z } from "zod/v4";
import { callsOf, isAIMessage } from "../history/call.js";
import { countTokens } from "../history/size.js";
import { displayNameOf } from "../providers/table/dialect-of.js";
import { isRecord, soundCount } from "../shared/values.js";

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
  #brokenResponses = 0;
  #estimated = 0;
  readonly #models = new Map<string, TokenUsage>();

  /** The tokens of all requests and responses so far, with our estimate for those without usage numbers. */
  get tokens(): number {
    return this.#estimated + (this.#total?.total_tokens ?? 0);
  }

  addResponse(message: AIMessage): void {
    this.#calls += callsOf(message).length;
  }

  /** How many calls got their results in this run. */
  get results(): number {
    return this.#results;
  }

  addResults(count: number): void {
    this.#results += count;
  }

  addBroken(): void {
    this.#brokenResponses += 1;
  }

  /** Counts a response's tokens, whether it is stored or not. */
  addUsage(model: string, usage: TokenUsage): void {
    this.#models.set(model, sum(this.#models.get(model) ?? NO_TOKENS, usage));
  }

  /** Counts a request and a response without usage numbers. `run-end` does not contain estimates. */
  addEstimate(tokens: number): void {
    this.#estimated += tokens;
  }

  end(): RunEndEvent {
    const total = this.#total;
    return {
      type: "run-end",
      calls: this.#calls,
      results: this.#results,
      usedFallback: this.#brokenResponses > 0,
      ...(total !== undefined && { usage: { ...total, models: Object.fromEntries(this.#models) } }),
    };
  }

  get #total(): TokenUsage | undefined {
    return this.#models.size === 0 ? undefined : [...this.#models.values()].reduce(sum, NO_TOKENS);
  }
}

/**
 * What a provider reports about a request and its response. Undefined if it reports nothing, or an impossible number of
 * tokens: no budget may count that.
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

/** Both have all details. */
function sum(one: TokenUsage, other: TokenUsage): TokenUsage {
  return mergeUsageMetadata(one, other) as TokenUsage;
}

/*
 * The event at the end of a run, with its counts.
 */

/** Tokens, with the names of LangChain's `UsageMetadata`. A number that the provider does not report is 0. */
interface TokenUsage {
  /** Tokens of the model input, cached ones included. */
  readonly input_tokens: number;
  /** Tokens of the responses, reasoning included. */
  readonly output_tokens: number;
  /** The provider's total in tokens, and at least the sum of the two. */
  readonly total_tokens: number;
  readonly input_token_details: {
    /** Input tokens that the provider read from its cache. */
    readonly cache_read: number;
    /** Input tokens that the provider wrote to its cache. */
    readonly cache_creation: number;
  };
  readonly output_token_details: {
    /** Output tokens of the model's reasoning. */
    readonly reasoning: number;
  };
}

/**
 * Emitted last, when a run ends with a final response, a required call's results, or calls that its caller executes. A
 * run that waits for a human, fails or is aborted has no such event. All counts are for this run only, not its thread.
 */
export interface RunEndEvent {
  readonly type: "run-end";
  /** How many tool calls the responses of this run have. */
  readonly calls: number;
  /** How many tool results this run added, including errors and refused calls. Recovered results do not count. */
  readonly results: number;
  /** Whether a response was broken and was requested again without streaming. */
  readonly usedFallback: boolean;
  /** Tokens of all responses and summaries, including broken ones. Left out if no model reports usage. */
  readonly usage?: TokenUsage & {
    /** The same for each model, by its name. */
    readonly models: { readonly [name: string]: TokenUsage };
  };
}

/*
 * What a thread has used since it began. It is a channel, not a sum over the history, because messages can be removed,
 * archived and summarised. Nodes write what they used, and the channel adds it up. So an ended run's usage can be added
 * later.
 */

export const threadUsageSchema = z.object({
  /** Tokens of all responses and summaries, input included. */
  tokens: z.number(),
  /** Tool calls that were sent to their tools. */
  toolCalls: z.number(),
});

export type ThreadUsage = z.infer<typeof threadUsageSchema>;

export const NO_USAGE: ThreadUsage = { tokens: 0, toolCalls: 0 };

export function addUsage(one: ThreadUsage, other: ThreadUsage): ThreadUsage {
  return { tokens: one.tokens + other.tokens, toolCalls: one.toolCalls + other.toolCalls };
}

export function isUsed({ tokens, toolCalls }: ThreadUsage): boolean {
  return tokens > 0 || toolCalls > 0;
}

export const threadUsageValue = withLangGraph<ThreadUsage, ThreadUsage, typeof threadUsageSchema>(
  threadUsageSchema,
  { reducer: { fn: addUsage, schema: threadUsageSchema }, default: () => NO_USAGE },
);

/**
 * Counts the tokens of requests to one model for its run. The numbers are the provider's, or our estimate if it reports
 * none or impossible ones.
 *
 * @param tally The run's tally; undefined outside a run of the graph, where nothing is counted.
 */
export function createUsageCounter(model: object, tally: RunTally | undefined) {
  const name = displayNameOf(model) ?? "unknown";
  let sent = 0;
  const add = (reported: unknown, response: number): void => {
    const usage = readTokens(reported);
    if (usage !== undefined) tally?.addUsage(name, usage);
    else tally?.addEstimate(sent + response);
  };
  return {
    /** Call it before a request is sent, with its length in tokens. */
    begin: (tokens: number): void => {
      sent = tokens;
    },
    /** Counts the response to the latest request. */
    addResponse: (response: BaseMessage): void =>
      add(isAIMessage(response) ? response.usage_metadata : undefined, countTokens(response)),
    /** Counts a broken response to the latest request. It is not stored, but its tokens cost money. */
    addBroken: (usage: UsageMetadata | undefined): void => add(usage, 0),
  };
}
