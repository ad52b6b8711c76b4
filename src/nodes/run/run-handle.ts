/**
 * What the nodes of one run share beside the state. It travels in `configurable` under a key that begins with
 * `__`: LangGraph copies other keys into checkpoint metadata. A client can send any `configurable`, so only an
 * instance of this class counts.
 */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Interrupt, isGraphInterrupt } from "@langchain/langgraph";
import pLimit, { type LimitFunction } from "p-limit";
import type { WatchedCheckpoints } from "../../langgraph/watch-checkpointer.js";
import type { RunBag, RunScope } from "../../middleware/context.js";
import type { MiddlewareByKind } from "../../middleware/middleware.js";
import type { GivenMessages } from "../../middleware/run-agent-middleware.js";
import { isRecord } from "../../shared/is-record.js";
import { RunTally } from "./run-tally.js";

const HANDLE_KEY = "__tether_run";

export interface RunHandleFields {
  readonly bag: RunBag;
  readonly middleware: MiddlewareByKind;
  readonly checkpoints: WatchedCheckpoints;
  readonly given?: GivenMessages | undefined;
  /** Calls that may run at once; Infinity: all. */
  readonly maxConcurrency: number;
  readonly endsAfterInput?: boolean;
  readonly emptyAnswer?: string | undefined;
}

export class RunHandle {
  /** The run's first superstep. Steps are counted over the whole thread. */
  firstStep: number | undefined;
  /** The history as the run left it; undefined until a node has seen it. */
  history: readonly BaseMessage[] | undefined;
  /** What a function middleware threw. It ends the run, and reaches its caller when the siblings are done. */
  failure: { readonly error: unknown } | undefined;
  /** Lets as many calls run at once as the run's `maxConcurrency` says. */
  readonly limitCalls: LimitFunction;
  /** What the run waits for. */
  readonly interrupts: Interrupt[] = [];
  readonly tally = new RunTally();
  readonly checkpoints: WatchedCheckpoints;
  readonly bag: RunBag;
  readonly middleware: MiddlewareByKind;
  readonly given: GivenMessages | undefined;
  /** Whether the run only takes its input. */
  readonly endsAfterInput: boolean;
  /** What was given as an answer to the question that the run waits with, if it answers nothing. */
  readonly emptyAnswer: string | undefined;

  constructor(fields: RunHandleFields) {
    const { bag, middleware, checkpoints, given } = fields;
    this.bag = bag;
    this.middleware = middleware;
    this.checkpoints = checkpoints;
    this.given = given;
    this.limitCalls = pLimit(fields.maxConcurrency);
    this.endsAfterInput = fields.endsAfterInput ?? false;
    this.emptyAnswer = fields.emptyAnswer;
  }

  toConfigurable(): Record<string, RunHandle> {
    return { [HANDLE_KEY]: this };
  }
}

export function runHandleOf(config: RunnableConfig): RunHandle | undefined {
  const handle: unknown = config.configurable?.[HANDLE_KEY];
  return handle instanceof RunHandle ? handle : undefined;
}

/** A config as a client may see it. */
export function withoutRunHandle(config: unknown): unknown {
  if (!isRecord(config) || !isRecord(config["configurable"])) return config;
  const { [HANDLE_KEY]: _handle, ...configurable } = config["configurable"];
  return { ...config, configurable };
}

/** Where a middleware's context belongs. A node that is run alone has a bag of its own. */
export function scopeOf(config: RunnableConfig): RunScope {
  const threadId: unknown = config.configurable?.["thread_id"];
  return {
    bag: runHandleOf(config)?.bag ?? { metadata: {} },
    threadId: typeof threadId === "string" ? threadId : undefined,
    signal: config.signal,
  };
}

/** Ends the run, whose caller gets the error. Of several, the first one stands. Returns whether there is a run. */
export function noteFailure(error: unknown, config: RunnableConfig): boolean {
  const handle = runHandleOf(config);
  if (handle === undefined) return false;
  handle.failure ??= { error };
  return true;
}

/** Does what a node does, and tells the run of the interrupt that it may end with. */
export async function noteInterrupts<T>(config: RunnableConfig, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (typeof error === "object" && error !== null && isGraphInterrupt(error))
      runHandleOf(config)?.interrupts.push(...error.interrupts);
    throw error;
  }
}

/** To be called by every node, so that the first one of the run is known. Returns the supersteps taken so far. */
export function countStep(config: RunnableConfig): number {
  const step: unknown = config.metadata?.["langgraph_step"];
  const handle = runHandleOf(config);
  if (typeof step !== "number" || handle === undefined) return 0;
  handle.firstStep ??= step;
  return step - handle.firstStep + 1;
}

/**
 * How many supersteps the run may still take after this one. LangGraph throws when it has taken as many as the
 * limit says, also if nothing is left to do, so a limit of n leaves room for n - 1.
 */
export function stepsLeft(config: RunnableConfig): number {
  const taken = countStep(config);
  if (taken === 0 || config.recursionLimit === undefined) return Number.POSITIVE_INFINITY;
  return config.recursionLimit - 1 - taken;
}
