/** How many supersteps a run may take, and what fits in what is left of them. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { stepOf } from "../../langgraph/step-of.js";
import { runRecordOf } from "./run-handle.js";

/** One more round: the tools, and the model after them. */
export const STEPS_OF_A_ROUND = 2;
/** The summary, and the model after it. */
export const STEPS_OF_A_SUMMARY = 2;
/** For the beginning and the end of a turn. */
const SPARE_STEPS = 20;

/** Where a run's caller gives no limit. Enough for a turn of healthy rounds, so that its own limits end it. */
export function recursionLimitFor(maxIterations: number): number {
  return maxIterations * STEPS_OF_A_ROUND + SPARE_STEPS;
}

/**
 * How many supersteps may follow. LangGraph throws when a run has taken as many as the limit says, even if nothing is
 * left to do, so a limit of n leaves room for n - 1.
 */
export function stepsAfter(
  taken: number,
  { recursionLimit = Number.POSITIVE_INFINITY }: RunnableConfig,
): number {
  return recursionLimit - 1 - taken;
}

/** How many supersteps may follow the one of this node; Infinity for a node that is run alone. */
export function stepsLeft(config: RunnableConfig): number {
  const first = runRecordOf(config)?.firstStep;
  const step = stepOf(config);
  if (first === undefined || step === undefined) return Number.POSITIVE_INFINITY;
  return stepsAfter(step - first + 1, config);
}
