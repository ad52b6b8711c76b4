/** Options that this library adds when it runs the compiled graph. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { isSubgraphRun } from "./run-host.js";

/**
 * LangGraph's switch that refuses a resume value without an interrupt id if several interrupts wait. Without it, one
 * value goes to all of them: a decision about a call would also answer the question of another tool. Not exported.
 */
const STRICT_RESUME = "__pregel_strict_resume";

export interface InnerRun {
  readonly hasStrictResume: boolean;
  /** Whether the run's result is held back because middleware can still change it. */
  readonly holdsResult: boolean;
}

export function innerOptions<Options extends RunnableConfig>(
  options: Options,
  { hasStrictResume, holdsResult }: InnerRun,
): Options {
  const run_id: unknown = options.configurable?.["run_id"];
  return {
    ...options,
    // A client can send metadata with the id of an earlier run. If the saver stores it, LangGraph continues that run and
    // ignores the input.
    ...(run_id !== undefined && { metadata: { ...options.metadata, run_id } }),
    // With a limit of 1, LangGraph runs only the first task of a superstep. So the tools node applies the limit
    // instead.
    maxConcurrency: Number.POSITIVE_INFINITY,
    // If a run has the name of its node, LangGraph takes it for the node and streams its result at once.
    ...(holdsResult && isSubgraphRun(options) && { runName: "agent-run" }),
    configurable: { ...options.configurable, [STRICT_RESUME]: hasStrictResume },
  };
}

/**
 * The options of a second run that writes after the first one. The first run may have started from an older checkpoint,
 * but the second one must start from the latest. It must not have the same `run_id`: LangGraph would resume the run
 * that wrote the latest checkpoint, and ignore the input.
 */
export function followingOptions<Options extends RunnableConfig>(options: Options): Options {
  const {
    checkpoint_id: _checkpoint,
    checkpoint_map: _map,
    run_id: _run,
    ...configurable
  } = { ...options.configurable };
  const { run_id: _inMetadata, ...metadata } = { ...options.metadata };
  // The `runId` stays, because readers of events take the last end of that run as its output.
  return { ...options, configurable, metadata };
}

/** Whether LangGraph saves the run only at its end. `checkpointDuring: false` is the old name of that. */
export function savesAtExit({ durability, checkpointDuring }: SavingOptions): boolean {
  return durability === "exit" || checkpointDuring === false;
}

interface SavingOptions extends RunnableConfig {
  readonly durability?: unknown;
  readonly checkpointDuring?: unknown;
}
