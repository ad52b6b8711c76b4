/**
 * What the nodes of one run share besides the state. It travels in `configurable` under a key that begins with `__`,
 * because LangGraph copies other keys into checkpoint metadata. A client can send any `configurable`, so a symbol
 * identifies the handle.
 */

import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointTuple, Interrupt, LangGraphRunnableConfig } from "@langchain/langgraph";
import type { LimitFunction } from "p-limit";
import pLimit from "p-limit";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { isRecord } from "../../shared/values.js";
import { ownValuesOf, resultIn } from "../../threads/commands.js";
import type { AgentEvent } from "../../threads/events.js";
import { readState, type ToolTask } from "../../threads/langgraph/read-checkpoints.js";
import { runIdEntry } from "../../threads/langgraph/run-host.js";
import { superstepOf } from "../../threads/langgraph/wrappable-graph.js";
import { isKeyOf, NO_OWN_STATE, type OwnState } from "../../threads/own-state.js";
import { checkpointsOf, type RunCheckpoints } from "../../threads/saver/run-checkpoints.js";
import type { ToolsUpdate } from "../../threads/state.js";
import { threadIdOf } from "../../threads/stores.js";
import { RunTally } from "../../threads/usage.js";
import type { RunBag, RunScope } from "../middleware/contexts.js";
import type { MiddlewareByKind } from "../middleware/middleware.js";

const HANDLE_KEY = "__tether_run";
/** No client can send a symbol. */
const RUN_HANDLE = Symbol.for("langgraph-tether.run-handle");

export class RunHandle {
  readonly inputs: RunInputs;
  readonly record = new RunRecord();
  readonly running = new RunningCalls();
  /**
   * Runs a tool call once fewer than `maxConcurrency` of the run's calls are running. LangGraph forgets all tasks of a
   * step but the first if the limit is one: https://github.com/langchain-ai/langgraphjs/issues/2656
   */
  readonly limitCall: LimitFunction;

  constructor(inputs: RunInputs) {
    this.inputs = inputs;
    this.limitCall = pLimit(inputs.maxConcurrency);
  }

  get [RUN_HANDLE](): true {
    return true;
  }

  /** The stream modes `debug` and `checkpoints` contain a run's config. As JSON it has no handle. */
  toJSON(): undefined {
    return undefined;
  }

  /** A printed config must not show the handle, which leads to the models and so to their keys. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return RunHandle.name;
  }

  toConfigurable(): Record<string, unknown> {
    return { [HANDLE_KEY]: this, ...runIdEntry(this.inputs.tally.runId) };
  }
}

/** The handle in a config; undefined outside the runs of an agent graph. */
export function runHandleOf({ configurable }: RunnableConfig): RunHandle | undefined {
  const handle: unknown = configurable?.[HANDLE_KEY];
  return isRunHandle(handle) ? handle : undefined;
}

function isRunHandle(value: unknown): value is RunHandle {
  return isRecord(value) && RUN_HANDLE in value;
}

/** A task's run. A route that a state update calls gets its own, which nobody reads. */
export function runOf(config: RunnableConfig): RunHandle {
  return (
    runHandleOf(config) ??
    new RunHandle({
      input: undefined,
      tally: new RunTally(randomUUID()),
      bag: { metadata: {} },
      middleware: { agent: [], chat: [], function: [] },
      checkpoints: checkpointsOf(undefined),
      ownState: NO_OWN_STATE,
      maxConcurrency: Number.POSITIVE_INFINITY,
      isInTool: false,
      endsAfterInput: false,
      isEdit: false,
      hasLateResult: false,
      namesCheckpoint: false,
    })
  );
}

type ScopeConfig = Omit<LangGraphRunnableConfig, "context"> & { readonly context?: unknown };

export function scopeOf(config: ScopeConfig): RunScope {
  const { context, configurable } = config;
  const { bag, ownState } = runOf(config).inputs;
  const { keys } = ownState;
  return {
    bag,
    threadId: threadIdOf(config),
    signal: config.signal,
    store: config.store,
    context: isRecord(context) ? context : {},
    readState: () => readState({ ...(configurable && { configurable }) }, keys) ?? { messages: [] },
    stateKeys: ["messages", ...keys],
    write: (value) => config.writer?.(value),
  };
}

/** Ends the run with an error for its caller. The first error wins. */
export function noteFailure(error: unknown, config: RunnableConfig): void {
  runOf(config).record.failure ??= { error };
}

/** What a call wrote, with its task and that task's config. */
export interface ReturnedCall {
  readonly task: ToolTask;
  readonly config: RunnableConfig;
  readonly update: ToolsUpdate;
}

/** The result in a call's writes, and what it wrote to the state's own keys. */
export function lateResultIn({ task: { call }, update, config }: ReturnedCall) {
  return {
    result: resultIn(update, call.id),
    values: ownValuesOf(update, isKeyOf(runOf(config).inputs.ownState)),
  };
}

/** The writes of calls that run at the same time. */
class RunningCalls {
  /** The superstep of the calls; undefined before the first one. */
  step: number | undefined;
  #calls: Promise<ReturnedCall>[] = [];

  add(task: ToolTask, update: Promise<ToolsUpdate>, config: RunnableConfig): void {
    const step = superstepOf(config);
    if (this.step !== step) this.#calls = [];
    this.step = step;
    const answered = update.then((value) => ({ task, config, update: value }));
    answered.catch(() => {});
    this.#calls.push(answered);
  }

  /** The writes of all the superstep's calls that returned. Resolves when the last one has ended. */
  async settled(): Promise<ReturnedCall[]> {
    // LangGraph begins all tasks of a superstep in one turn of the event loop.
    await new Promise((resolve) => setTimeout(resolve));
    const outcomes = await Promise.allSettled(this.#calls);
    return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** The state at the beginning of a superstep, with the user's own keys. */
type BeginningState = Fields & { readonly messages: readonly BaseMessage[] };

interface LastStep {
  readonly step: number | undefined;
  readonly state: BeginningState;
  /** What its nodes wrote to the state, in order. */
  readonly updates: Fields[];
}

/** A run's progress. What the run was started with is in its `RunInputs`. */
export class RunRecord {
  /** The questions that the run waits for. */
  readonly interrupts: Interrupt[] = [];
  /** The inbox messages that are in the history, and whose items are deleted when the run ends. */
  readonly steered = new Set<string>();
  /** Whether the run has asked the model. */
  hasAsked = false;
  /** Resolves when the run has told how the one before it ended, if it was killed. */
  killedTold: Promise<void> | undefined;
  /** Whether the run has looked for late results. */
  hasLookedForLate = false;
  /** Events about the input, until the first node or route emits them. */
  readonly inputEvents: AgentEvent[] = [];
  /**
   * What ends the run, such as an error from a function middleware. The run's caller gets it after the other calls of
   * the batch have finished.
   */
  failure: { readonly error: unknown } | undefined;
  structuredResponse: unknown;
  /** The run's first superstep. LangGraph counts steps over the whole thread. */
  firstStep: number | undefined;
  #last: LastStep | undefined;
  /** The history, once computed. */
  #reduced: readonly BaseMessage[] | undefined;

  /**
   * Called by each task. The route from START, which has no superstep, calls it too, because a run can end there. All
   * tasks of a superstep begin with the same state, so the first call is enough.
   */
  beginStep(step: number | undefined, state: BeginningState | undefined): void {
    this.firstStep ??= step;
    if (state === undefined || (this.#last !== undefined && this.#last.step === step)) return;
    this.#last = { step, state, updates: [] };
    this.#reduced = undefined;
  }

  addWrites(updates: readonly Fields[]): void {
    this.#last?.updates.push(...updates);
    this.#reduced = undefined;
    for (const { structuredResponse } of updates)
      if (structuredResponse !== undefined) this.structuredResponse = structuredResponse;
  }

  /** The state's own keys at the end of the run; undefined if the run did not begin. */
  ownValues({ keys, channels }: OwnState): Fields | undefined {
    if (this.#last === undefined) return undefined;
    const { state, updates } = this.#last;
    const left = keys.map((key) => {
      const written = updates.flatMap((update) => (Object.hasOwn(update, key) ? [update[key]] : []));
      const channel = channels[key];
      if (written.length === 0 || channel === undefined || this.interrupts.length > 0)
        return [key, state[key]];
      const copy = channel.fromCheckpoint(state[key]);
      copy.update(written);
      return [key, copy.get()];
    });
    return Object.fromEntries(left.filter(([, value]) => value !== undefined));
  }

  /**
   * The history at the end of the run; undefined if the run did not begin. It is computed on demand, so only runs with
   * agent middleware pay for it.
   */
  get history(): readonly BaseMessage[] | undefined {
    if (this.#last === undefined) return undefined;
    const { state, updates } = this.#last;
    const writes = updates.flatMap(({ messages }) => (Array.isArray(messages) ? messages : []));
    // LangGraph discards all writes of a superstep that ends in an interrupt.
    if (writes.length === 0 || this.interrupts.length > 0) return state.messages;
    this.#reduced ??= reduceMessages(state.messages, writes).messages;
    return this.#reduced;
  }
}

/** Messages that an agent middleware set. The graph stores them instead of asking the model. */
export interface GivenMessages {
  /**
   * `"response"`: the response of a run without a model call. `"correction"`: a message that replaces a run's response.
   */
  readonly kind: "response" | "correction";
  readonly messages: readonly BaseMessage[];
}

/** What a run was started with. Its progress is in its `RunRecord`, and in the checkpoints that it saves. */
export interface RunInputs {
  /** The input that LangGraph gets. */
  readonly input: unknown;
  /** What the run uses, in all its passes through the graph. */
  readonly tally: RunTally;
  /** Shared by all middleware of the run. */
  readonly bag: RunBag;
  readonly middleware: MiddlewareByKind;
  /** The checkpoint that the run began on, and what it has saved since. */
  readonly checkpoints: RunCheckpoints;
  /** The state's own keys. */
  readonly ownState: OwnState;
  /** Messages that a middleware set. Undefined: the model is asked. */
  readonly given?: GivenMessages | undefined;
  /** The structured response of a run whose result a middleware corrects. The correction keeps it. */
  readonly structuredResponse?: unknown;
  /** How many tool calls can run at once; Infinity: all. */
  readonly maxConcurrency: number;
  /** Whether another agent's tool or middleware started the run. The thread's inbox is that agent's. */
  readonly isInTool: boolean;
  /** Whether the run only stores its input, without asking the model. */
  readonly endsAfterInput: boolean;
  /** Whether the input gives a message of the thread other words, which begins a turn. */
  readonly isEdit: boolean;
  /** Whether the input has a result that the thread lacked, which the model is told even after its final response. */
  readonly hasLateResult: boolean;
  /** Whether the caller named the checkpoint that the run begins on. */
  readonly namesCheckpoint: boolean;
  /** The thread's latest checkpoint before the run, if the caller named one: it may be in another branch. */
  readonly latest?: CheckpointTuple | undefined;
  /** The empty value that the caller resumed the run with; undefined if there was none. */
  readonly emptyResponse?: string | undefined;
}
