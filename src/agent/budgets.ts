/** The budgets of a turn and of a thread, and of the supersteps of a run. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BudgetLimit, NearBudget } from "../threads/events.js";
import { stepOf } from "../threads/langgraph/wrappable-graph.js";
import { type AgentState, type Turn, turnOf } from "../threads/state.js";
import { NO_USAGE, type ThreadUsage } from "../threads/usage.js";
import { runOf } from "./run-handle.js";
import type { LoopLimits } from "./settings/settings.js";

/** What has been used so far. */
export interface Spending {
  readonly turn: Turn;
  readonly thread: ThreadUsage;
}

interface Budget {
  readonly limit: BudgetLimit;
  readonly setting: keyof LoopLimits;
  readonly used: (spending: Spending) => number;
}

const BUDGETS = [
  { limit: "max-tokens-per-turn", setting: "maxTokensPerTurn", used: ({ turn }) => turn.tokens ?? 0 },
  { limit: "max-tokens-per-thread", setting: "maxTokensPerThread", used: ({ thread }) => thread.tokens },
  {
    limit: "max-tool-calls-per-thread",
    setting: "maxToolCallsPerThread",
    used: ({ thread }) => thread.toolCalls,
  },
] as const satisfies readonly Budget[];

/** The share of a budget from which clients are warned. */
const NEAR = 0.8;

/** The first budget that is used up. */
export function usedUpBudget(spending: Spending, limits: LoopLimits): BudgetLimit | undefined {
  return BUDGETS.find(({ setting, used }) => used(spending) >= limits[setting])?.limit;
}

/** The budgets of which most is used, without those that closed the turn or that the turn has a warning of. */
export function nearBudgets(spending: Spending, limits: LoopLimits): readonly NearBudget[] {
  const { closing, near = [] } = spending.turn;
  return BUDGETS.flatMap(({ limit, setting, used }) => {
    const spent = used(spending);
    const max = limits[setting];
    const isKnown = limit === closing || near.includes(limit);
    return isKnown || spent === 0 || spent < max * NEAR ? [] : [{ limit, used: spent, max }];
  });
}

/**
 * Whether the thread's tokens were used up before this turn. Then the model is not asked at all: each turn would
 * otherwise spend more.
 */
export function isThreadUsedUp(state: AgentState, { maxTokensPerThread }: LoopLimits): boolean {
  const { iterations, closing } = turnOf(state);
  const { tokens } = state.threadUsage ?? NO_USAGE;
  return iterations === 0 && closing === undefined && tokens >= maxTokensPerThread;
}

/*
 * How many supersteps a run can take, and how many are left.
 */

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
  const first = runOf(config).record.firstStep;
  const step = stepOf(config);
  if (first === undefined || step === undefined) return Number.POSITIVE_INFINITY;
  return stepsAfter(step - first + 1, config);
}
