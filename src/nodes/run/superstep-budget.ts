/** How many supersteps a run can take, and how many are left. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { stepOf } from "../../langgraph/step-of.js";
import { runRecordOf } from "./run-handle.js";

/** A round: the tools, and the model after them. */
export const STEPS_OF_A_ROUND = 2;
/** A summary: the summarize node, and the model after it. */
export const STEPS_OF_A_SUMMARY = 2;
/** For the beginning and the end of a turn. */
const SPARE_STEPS = 20;

/** The default recursion limit. It has room for a complete turn, so that the limits of the turn end it first. */
export function recursionLimitFor(maxIterations: number): number {
  return maxIterations * STEPS_OF_A_ROUND + SPARE_STEPS;
}

/**
 * How many supersteps can follow. LangGraph throws when a run has taken as many supersteps as its limit, even if
 * nothing is left to do. So a limit of n leaves room for n - 1.
 */
export function stepsAfter(
  taken: number,
  { recursionLimit = Number.POSITIVE_INFINITY }: RunnableConfig,
): number {
  return recursionLimit - 1 - taken;
}

/** How many supersteps can follow this one; Infinity for a node that runs outside a graph. */
export function stepsLeft(config: RunnableConfig): number {
  const first = runRecordOf(config)?.firstStep;
  const step = stepOf(config);
  if (first === undefined || step === undefined) return Number.POSITIVE_INFINITY;
  return stepsAfter(step - first + 1, config);
}
