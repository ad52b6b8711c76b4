/**
 * What the nodes of one run share besides the state. It is passed in `configurable` under a key that begins with `__`,
 * because LangGraph copies other keys into checkpoint metadata. A client can send any `configurable`, so a
 * handle is recognised by a symbol.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import pLimit, { type LimitFunction } from "p-limit";
import { readState } from "../../langgraph/checkpoints/read-history.js";
import type { RunScope } from "../../middleware/context.js";
import { NO_OWN_STATE, type OwnState } from "../../settings/schemas/own-state.js";
import { isRecord } from "../../shared/is-record.js";
import type { ToolsUpdate } from "../tools/finalize-call.js";
import type { RunInputs } from "./run-inputs.js";
import { RunRecord } from "./run-record.js";
import { RunningCalls } from "./running-calls.js";

const HANDLE_KEY = "__tether_run";
/** No client can send a symbol. */
const RUN_HANDLE = Symbol.for("langgraph-tether.run-handle");

export class RunHandle {
  readonly inputs: RunInputs;
  readonly record = new RunRecord();
  readonly running = new RunningCalls<ToolsUpdate>();
  #limitCalls: LimitFunction | undefined;

  constructor(inputs: RunInputs) {
    this.inputs = inputs;
  }

  /** Runs a tool call when fewer than `maxConcurrency` of the run are running. */
  limitCall<Result>(call: () => Promise<Result>): Promise<Result> {
    const { maxConcurrency } = this.inputs;
    if (maxConcurrency === Number.POSITIVE_INFINITY) return call();
    this.#limitCalls ??= pLimit(maxConcurrency);
    return this.#limitCalls(call);
  }

  get [RUN_HANDLE](): true {
    return true;
  }

  toConfigurable(): Record<string, RunHandle> {
    return { [HANDLE_KEY]: this };
  }
}

/** The handle of the run; undefined for a node that runs outside a graph. */
export function runHandleOf(config: RunnableConfig): RunHandle | undefined {
  const handle: unknown = config.configurable?.[HANDLE_KEY];
  return isRunHandle(handle) ? handle : undefined;
}

function isRunHandle(value: unknown): value is RunHandle {
  return isRecord(value) && RUN_HANDLE in value;
}

export function runInputsOf(config: RunnableConfig): RunInputs | undefined {
  return runHandleOf(config)?.inputs;
}

export function runRecordOf(config: RunnableConfig): RunRecord | undefined {
  return runHandleOf(config)?.record;
}

/** A config as clients can see it. */
export function withoutRunHandle(config: unknown): unknown {
  if (!isRecord(config) || !isRecord(config["configurable"])) return config;
  const { [HANDLE_KEY]: _handle, ...configurable } = config["configurable"];
  return { ...config, configurable };
}

/** The keys that a user adds to the state of the run's graph. */
export function ownStateOf(config: RunnableConfig): OwnState {
  return runInputsOf(config)?.ownState ?? NO_OWN_STATE;
}

type ScopeConfig = Omit<LangGraphRunnableConfig, "context"> & { readonly context?: unknown };

/** The scope of a middleware's context. A node that runs outside a graph gets an empty bag. */
export function scopeOf(config: ScopeConfig): RunScope {
  const threadId: unknown = config.configurable?.["thread_id"];
  const { context } = config;
  const { keys } = ownStateOf(config);
  return {
    bag: runInputsOf(config)?.bag ?? { metadata: {} },
    threadId: typeof threadId === "string" ? threadId : undefined,
    signal: config.signal,
    store: config.store,
    context: isRecord(context) ? context : {},
    readState: () =>
      readState({ ...(config.configurable && { configurable: config.configurable }) }, keys) ?? {
        messages: [],
      },
    stateKeys: ["messages", ...keys],
    write: (value) => config.writer?.(value),
  };
}

/** Ends the run with an error, which the run's caller gets. The first error wins. Returns false outside a run. */
export function noteFailure(error: unknown, config: RunnableConfig): boolean {
  const record = runRecordOf(config);
  if (record === undefined) return false;
  record.failure ??= { error };
  return true;
}
