/** The options with which the compiled graph is run, where LangGraph must be told more than its caller says. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { isSubgraphRun } from "./run-host.js";

/**
 * A switch of LangGraph: an answer without the id of an interrupt is refused where several wait. Without it one answer
 * goes to all of them, and what approves a call also answers the question of a tool beside it. Not exported.
 */
const STRICT_RESUME = "__pregel_strict_resume";

export interface InnerRun {
  readonly hasStrictResume: boolean;
  /** Whether the run's result is held back, as by middleware that may change it. */
  readonly holdsResult: boolean;
}

export function innerOptions<Options extends RunnableConfig>(
  options: Options,
  { hasStrictResume, holdsResult }: InnerRun,
): Options {
  return {
    ...options,
    // With a limit of 1 LangGraph forgets all tasks of a superstep but the first; so the tools node keeps the limit.
    maxConcurrency: Number.POSITIVE_INFINITY,
    // A run with the name of its node would be taken for the node, and its result shown at once.
    ...(holdsResult && isSubgraphRun(options) && { runName: "agent-run" }),
    configurable: { ...options.configurable, [STRICT_RESUME]: hasStrictResume },
  };
}

/**
 * The options of a second run that writes after the first. The first may have begun in the past of its thread; this one
 * belongs to the end. LangGraph resumes the run whose `run_id` wrote the last checkpoint, and would take no input.
 */
export function followingOptions<Options extends RunnableConfig>(options: Options): Options {
  const { checkpoint_id: _checkpoint, run_id: _run, ...configurable } = { ...options.configurable };
  const { run_id: _inMetadata, ...metadata } = { ...options.metadata };
  // Under the same `runId`: readers of events take the last end of that run for its output.
  return { ...options, configurable, metadata };
}
