/** The limits of a turn, its thread, and a run's supersteps. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BudgetLimit, NearBudget } from "../../threads/events.js";
import { superstepOf } from "../../threads/langgraph/wrappable-graph.js";
import type { ClosingReason, Turn } from "../../threads/state.js";
import type { ThreadUsage } from "../../threads/usage.js";
import type { LoopLimits } from "../settings/settings.js";
import { runOf } from "./handle.js";

export interface Spending {
  readonly turn: Turn;
  readonly thread: ThreadUsage;
}

interface Limit<Reason extends ClosingReason = ClosingReason> {
  readonly limit: Reason;
  readonly setting: keyof LoopLimits;
  readonly used: (spending: Spending) => number;
}

/** Clients are warned of these. */
const BUDGETS: readonly Limit<BudgetLimit>[] = [
  { limit: "max-tokens-per-turn", setting: "maxTokensPerTurn", used: ({ turn }) => turn.tokens ?? 0 },
  { limit: "max-tokens-per-thread", setting: "maxTokensPerThread", used: ({ thread }) => thread.tokens },
  {
    limit: "max-tool-calls-per-thread",
    setting: "maxToolCallsPerThread",
    used: ({ thread }) => thread.toolCalls,
  },
];

const LIMITS: readonly Limit[] = [
  { limit: "max-iterations", setting: "maxIterations", used: ({ turn }) => turn.iterations },
  { limit: "max-tool-calls", setting: "maxToolCalls", used: ({ turn }) => turn.toolCalls },
  {
    limit: "max-consecutive-errors",
    setting: "maxConsecutiveErrors",
    used: ({ turn }) => turn.consecutiveErrors,
  },
  ...BUDGETS,
];

/** Why the model must not call tools any more: the first limit that is reached. */
export function closingReason(
  spending: Spending,
  limits: LoopLimits,
  config: RunnableConfig,
): ClosingReason | undefined {
  const reached = LIMITS.find(({ setting, used }) => used(spending) >= limits[setting])?.limit;
  return reached ?? (stepsLeft(config) < STEPS_OF_A_ROUND ? "recursion-limit" : undefined);
}

/** The share of a budget from which clients are warned. */
const NEAR = 0.8;

/** The budgets that are mostly used, except those that closed the turn or that the turn already has a warning about. */
export function nearBudgets(spending: Spending, limits: LoopLimits): readonly NearBudget[] {
  const { closing, near = [] } = spending.turn;
  return BUDGETS.flatMap(({ limit, setting, used }) => {
    const spent = used(spending);
    const max = limits[setting];
    const isKnown = limit === closing || near.includes(limit);
    return isKnown || spent === 0 || spent < max * NEAR ? [] : [{ limit, used: spent, max }];
  });
}

/*
 * How many supersteps a run can take, and how many are left.
 */

/** A round: the tools, and the model after them. */
const STEPS_OF_A_ROUND = 2;
/** A summary: the summarize node, and the model after it. */
export const STEPS_OF_A_SUMMARY = 2;
/** For the beginning and the end of a turn. */
const SPARE_STEPS = 20;

/** The default recursion limit. It leaves room for a complete turn, so that the turn's own limits end it first. */
export function recursionLimitFor(maxIterations: number): number {
  return maxIterations * STEPS_OF_A_ROUND + SPARE_STEPS;
}

/**
 * How many supersteps can follow this one; Infinity for a node that runs outside a graph. LangGraph throws once a run
 * has taken as many supersteps as its limit, even if nothing is left to do. So a limit of n leaves room for n - 1.
 */
export function stepsLeft(config: RunnableConfig): number {
  const { recursionLimit = Number.POSITIVE_INFINITY } = config;
  const first = runOf(config).record.firstStep;
  const step = superstepOf(config);
  return first === undefined || step === undefined
    ? Number.POSITIVE_INFINITY
    : recursionLimit - (step - first) - 2;
}
