/** What a run and a thread have used: tokens and tool calls. */

import { randomUUID } from "node:crypto";
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
import { isRecord, soundCount, textIn } from "../shared/values.js";

const NO_TOKENS: TokenUsage = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_token_details: { cache_read: 0, cache_creation: 0 },
  output_token_details: { reasoning: 0 },
};

export type RunOutcome = RunEndEvent["outcome"];

export class RunTally {
  /** The run's id, and when it began, in milliseconds since 1970. */
  readonly #run: Pick<RunUsage, "id" | "startedAt">;
  readonly #began = performance.now();
  #calls = 0;
  #results = 0;
  #brokenResponses = 0;
  #estimated = 0;
  readonly #models = new Map<string, TokenUsage>();
  #tellLate: ((models: RunUsage["models"]) => void) | undefined;
  /** Whether `soFar` was read, so that the thread may have what the run used. */
  isStored = false;

  constructor(id: string) {
    this.#run = { id, startedAt: Date.now() };
  }

  get runId(): string {
    return this.#run.id;
  }

  /** The tokens of all requests and responses so far, with our estimate for those without usage numbers. */
  get tokens(): number {
    return this.#estimated + (total(Object.fromEntries(this.#models))?.total_tokens ?? 0);
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
    if (this.#tellLate === undefined)
      this.#models.set(model, sum(this.#models.get(model) ?? NO_TOKENS, usage));
    else this.#tellLate({ [model]: usage });
  }

  /** Counts a response that an ended run has stored. */
  addStored(message: AIMessage): void {
    const { response_metadata: told } = message;
    const usage = readTokens(message.usage_metadata);
    const name = textIn(told, "model_name") ?? textIn(told, "model") ?? "unknown";
    if (usage !== undefined) this.addUsage(name, usage);
    this.addResponse(message);
  }

  /** Counts a request and a response without usage numbers. `run-end` does not contain estimates. */
  addEstimate(tokens: number): void {
    this.#estimated += tokens;
  }

  /** What the run has used so far, for its thread. */
  soFar(): RunUsage {
    this.isStored = true;
    return this.#used();
  }

  /**
   * Tells the run's end, once. What is used afterwards is told at once, as by another run: a model can respond after the
   * abort.
   */
  finish(outcome: RunOutcome, tell: (end: EndOfRun) => void): void {
    if (this.#tellLate !== undefined) return;
    this.#tellLate = (models) => tell(runEnd({ ...NOTHING_USED, id: randomUUID(), models }, outcome, 0));
    tell(runEnd(this.#used(), outcome, Math.round(performance.now() - this.#began)));
  }

  #used(): RunUsage {
    return {
      ...this.#run,
      calls: this.#calls,
      results: this.#results,
      usedFallback: this.#brokenResponses > 0,
      models: Object.fromEntries(this.#models),
    };
  }
}

const NOTHING_USED = { startedAt: 0, calls: 0, results: 0, usedFallback: false } as const;

/** The event, with its run. */
export type EndOfRun = RunEndEvent & { readonly runId: string };

export function runEnd(
  { id, calls, results, usedFallback, models }: RunUsage,
  outcome: RunOutcome,
  durationMs: number,
): EndOfRun {
  const usage = total(models);
  return {
    type: "run-end",
    runId: id,
    outcome,
    calls,
    results,
    usedFallback,
    durationMs,
    ...(usage !== undefined && { usage: { ...usage, models } }),
  };
}

function total(models: RunUsage["models"]): TokenUsage | undefined {
  const all = Object.values(models);
  return all.length === 0 ? undefined : all.reduce(sum, NO_TOKENS);
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
export interface TokenUsage {
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
 * Emitted last, once for each run, however it ends. All counts are for this run only, not its thread. So the sum over a
 * thread's runs is what its models have reported.
 */
export interface RunEndEvent {
  readonly type: "run-end";
  /**
   * - `done`: it gave a final response, a required call's results, or calls that its caller executes.
   * - `waiting`: it waits for a human, or at a node that its caller named.
   * - `cancelled`: it was aborted or drained, or nobody read its stream any more.
   * - `failed`: it threw an error.
   * - `killed`: its process ended. The thread's next run emits this event, with the killed run's id and what is saved
   *   of it. Nobody knows of a response that was not saved.
   * - `stopped`: only under `tetherMiddleware`. It ended between two steps: at the recursion limit, before a node of
   *   `interruptBefore`, or drained. The thread's next run emits this event, in another process as `killed`.
   */
  readonly outcome: "done" | "waiting" | "cancelled" | "failed" | "killed" | "stopped";
  /** How many tool calls the responses of this run have. */
  readonly calls: number;
  /** How many tool results this run added, including errors and refused calls. Recovered results do not count. */
  readonly results: number;
  /** Whether a response was broken and was requested again without streaming. */
  readonly usedFallback: boolean;
  /**
   * How long the run took, in milliseconds, without its wait for other runs of the thread. `killed`: until it last saved.
   */
  readonly durationMs: number;
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

const tokenUsageSchema = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  input_token_details: z.object({ cache_read: z.number(), cache_creation: z.number() }),
  output_token_details: z.object({ reasoning: z.number() }),
});

const runUsageSchema = z.object({
  id: z.string(),
  startedAt: z.number(),
  calls: z.number(),
  results: z.number(),
  usedFallback: z.boolean(),
  models: z.record(z.string(), tokenUsageSchema),
});

/** What one run has used. */
export type RunUsage = z.infer<typeof runUsageSchema>;

export const threadUsageSchema = z.object({
  /** Tokens of all responses and summaries, input included. */
  tokens: z.number(),
  /** Tool calls that were sent to their tools. */
  toolCalls: z.number(),
  /** What the latest run has used so far. If its process is killed, the next run reports it. */
  run: runUsageSchema.optional(),
});

export type ThreadUsage = z.infer<typeof threadUsageSchema>;

export const NO_USAGE: ThreadUsage = { tokens: 0, toolCalls: 0 };

export function addUsage(one: ThreadUsage, other: ThreadUsage): ThreadUsage {
  const run = other.run ?? one.run;
  return {
    tokens: one.tokens + other.tokens,
    toolCalls: one.toolCalls + other.toolCalls,
    ...(run !== undefined && { run }),
  };
}

export function isUsed({ tokens, toolCalls }: ThreadUsage): boolean {
  return tokens > 0 || toolCalls > 0;
}

export const threadUsageValue = withLangGraph<ThreadUsage, ThreadUsage, typeof threadUsageSchema>(
  threadUsageSchema,
  { reducer: { fn: addUsage, schema: threadUsageSchema }, default: () => NO_USAGE },
);

/** Counts the tokens of one model's requests for their run. */
export type UsageCounter = ReturnType<typeof createUsageCounter>;

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
    addBroken: (usage: UsageMetadata | undefined): void => {
      tally?.addBroken();
      add(usage, 0);
    },
    /** Counts a response that nobody gets. */
    addUnused: (usage: UsageMetadata | undefined): void => add(usage, 0),
  };
}
