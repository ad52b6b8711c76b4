/**
 * What the nodes of one run share beside the state. It travels in `configurable` under a key that begins with
 * `__`: LangGraph copies other keys into checkpoint metadata. A client can send any `configurable`, so only an
 * instance of this class counts.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointTuple } from "@langchain/langgraph";
import { RunTally } from "./run-tally.js";

const HANDLE_KEY = "__tether_run";

/** Reads a checkpoint of the run's thread. */
export type ReadCheckpoint = (config: RunnableConfig) => Promise<CheckpointTuple | undefined>;

export class RunHandle {
  /** The checkpoint that the run began on, with what its unfinished tasks had written. */
  abandoned: CheckpointTuple | undefined;
  /** The run's first superstep. Steps are counted over the whole thread. */
  firstStep: number | undefined;
  readonly readCheckpoint: ReadCheckpoint | undefined;
  readonly tally = new RunTally();

  constructor(readCheckpoint?: ReadCheckpoint) {
    this.readCheckpoint = readCheckpoint;
  }

  toConfigurable(): Record<string, RunHandle> {
    return { [HANDLE_KEY]: this };
  }
}

export function runHandleOf(config: RunnableConfig): RunHandle | undefined {
  const handle: unknown = config.configurable?.[HANDLE_KEY];
  return handle instanceof RunHandle ? handle : undefined;
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
