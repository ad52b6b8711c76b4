/**
 * A run of a LangChain agent, as its middleware sees it. No hook is called when a run waits for a human, is cancelled or
 * fails, and one after each answer would cost a superstep. So the checkpointer and the run's signals tell its end, and
 * without a checkpointer its final response. A run that ends between two steps, as at the recursion limit, is told by the
 * next one.
 */

import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { BaseMessage } from "@langchain/core/messages";
import { getConfig, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { safely } from "../shared/json.js";
import { defined, isRecord, madeOnce } from "../shared/values.js";
import { onAbort } from "../shared/waiting.js";
import { diaryOf, pageOf } from "../threads/diary.js";
import { noteEnd, tellKilledRun, usageOfResponses } from "../threads/ended-runs/killed-run.js";
import { publishEvent } from "../threads/events.js";
import { hasTasks, isAsked, isFailed, type StoredState } from "../threads/langgraph/read-checkpoints.js";
import {
  controlOf,
  externalSignalOf,
  givenRunId,
  isContinuedStep,
  isOutermost,
  namespaceOfGraph,
  runIdEntry,
} from "../threads/langgraph/run-host.js";
import { watchRun } from "../threads/saver/patient-saver.js";
import { savedCheckpoints } from "../threads/saver/run-checkpoints.js";
import { type RunOutcome, RunTally } from "../threads/usage.js";

type Config = LangGraphRunnableConfig;

/** By what LangGraph makes for each run. Agents inside it may share that, but not their namespaces. */
const runs = new WeakMap<object, Map<string, SeenRun>>();

/** The run of a hook. Each has its own `config`. */
export function seenRun(config: Config): SeenRun {
  const control = controlOf(getConfig()) ?? config.configurable ?? config;
  const ofNamespace = madeOnce(runs, control, () => new Map<string, SeenRun>());
  return madeOnce(ofNamespace, namespaceOfGraph(config), () => new SeenRun(config));
}

/** A task's own `configurable`, with the id of its run. A middleware can run a tool several times in one task. */
const withRunIds = new WeakMap<object, Record<string, unknown>>();

export class SeenRun {
  readonly tally: RunTally;
  /** That of the latest hook. */
  #config: Config;
  #hasBegun = false;
  /** How many tools are at work, and whether one of them has asked a human. */
  #atWork = 0;
  #asks = false;
  /** What is saved of it. Undefined: the checkpointer cannot be watched, or there is none. */
  readonly #saved: ReturnType<typeof watchRun>;
  #stopListening: (() => void) | undefined;

  constructor(config: Config) {
    const { metadata } = getConfig() ?? {};
    const runId = isOutermost(config) ? givenRunId({ ...defined({ metadata }), ...config }) : undefined;
    this.tally = new RunTally(runId ?? randomUUID());
    this.#config = config;
    this.#saved = watchRun(config, {
      saved: (state) => this.#noteSaved(state),
      // LangGraph aborts the other tasks afterwards.
      writing: (writes) => isFailed(writes) && this.#end("failed"),
      written: (writes) => this.#noteWrites(writes),
      lost: () => this.#end("failed"),
      superseded: () => this.#endUnseen(),
    });
  }

  /**
   * Begins a hook. The first one tells how the run before this one ended, if it was killed.
   *
   * @param mayHaveLeft Whether a run of the thread may have ended early. By default, if this one continues its thread.
   */
  async enter(config: Config, mayHaveLeft = isContinuedStep(config)): Promise<Config> {
    const { configurable = {}, signal } = config;
    const withRunId = madeOnce(withRunIds, configurable, () => ({
      ...configurable,
      ...runIdEntry(this.tally.runId),
    }));
    const own = { ...config, configurable: withRunId };
    this.#config = own;
    const external = externalSignalOf(config);
    if (signal !== undefined) {
      // LangGraph adds a listener for each call of the step, and Node warns about more than ten.
      setMaxListeners(0, signal);
      // It aborts with the run, and if another task of the superstep fails.
      onAbort(signal, () => this.#end(external?.aborted === false ? "failed" : "cancelled"));
    }
    this.#listen(external);
    if (this.#hasBegun) return own;
    this.#hasBegun = true;
    await this.#saved?.before?.superseded();
    await this.#saved?.noted;
    if (mayHaveLeft) {
      const checkpoints = await savedCheckpoints(config).catch(() => undefined);
      if (checkpoints !== undefined) await tellKilledRun(checkpoints, usageOfResponses, own);
    }
    return own;
  }

  /** LangGraph tells the caller's signal from the second superstep on. It can outlive many runs. */
  #listen(signal: AbortSignal | undefined): void {
    if (this.#stopListening !== undefined || signal === undefined) return;
    const run = new WeakRef(this);
    const stop = onAbort(signal, () => {
      const seen = run.deref();
      if (seen !== undefined) seen.#end("cancelled");
    });
    this.#stopListening = stop;
    forgotten.register(this, stop);
  }

  /** Counts a tool's result. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#atWork += 1;
    try {
      const result = await work();
      this.tally.addResults(1);
      return result;
    } finally {
      this.#atWork -= 1;
      this.#endIfAsking();
    }
  }

  /** Without a checkpointer, nothing else tells that the run is done. */
  noteResponse(response: unknown): void {
    if (this.#saved?.isSaved() !== true && isFinal(response)) this.#end("done");
  }

  #noteSaved(state: StoredState): void {
    if (state.metadata?.source === "loop" && !hasTasks(state)) this.#end("done");
  }

  #noteWrites(writes: Parameters<typeof isAsked>[0]): void {
    this.#asks ||= isAsked(writes);
    this.#endIfAsking();
  }

  #endIfAsking(): void {
    if (this.#asks && this.#atWork === 0) this.#end("waiting");
  }

  /** The run ended between two steps, where nothing tells it. Another process may have told it since. */
  async #endUnseen(): Promise<void> {
    const page = pageOf(this.#config, this.#saved?.latestId());
    const tuple = await page?.saver.getTuple(page.config).catch(() => undefined);
    if (tuple && diaryOf(tuple).ends.some(({ hasUsed }) => hasUsed)) this.tally.finish("stopped", () => {});
    else this.#end("stopped");
  }

  #end(outcome: RunOutcome): void {
    this.#stopListening?.();
    this.#saved?.stop();
    this.tally.finish(outcome, (end) => {
      const checkpointId = this.#saved?.latestId();
      const event = publishEvent(this.#config, { ...defined({ checkpointId }), ...end });
      // The stream can be closed.
      safely(() => this.#config.writer?.(event));
      if (outcome === "done" || outcome === "waiting") return;
      const { runId, usage } = end;
      const noted = { runId, outcome, hasUsed: usage !== undefined };
      this.#saved?.note(() => noteEnd(noted, this.#config, checkpointId));
    });
  }
}

/** Takes the listeners of runs whose end nobody saw from their signals. */
const forgotten = new FinalizationRegistry<() => void>((stop) => stop());

/** Whether LangChain ends the run with what the model call returned, as far as this middleware knows. */
function isFinal(response: unknown): boolean {
  if (!isRecord(response)) return false;
  if ("structuredResponse" in response) return true;
  const message = response as unknown as BaseMessage;
  return isAIMessage(message) && callsOf(message).length === 0;
}
