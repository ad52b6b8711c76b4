/** The budgets of a turn and of a thread: how much of each is used, and which of them are used up. */

import type { LoopLimits } from "../../settings/loop-limits.js";
import type { BudgetLimit, NearBudget } from "./agent-event.js";
import { type AgentState, type Turn, turnOf } from "./agent-state.js";
import { NO_USAGE, type ThreadUsage } from "./thread-usage.js";

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
  {
    limit: "max-tokens-per-turn",
    setting: "maxTokensPerTurn",
    used: ({ turn }) => turn.tokens ?? 0,
  },
  {
    limit: "max-tokens-per-thread",
    setting: "maxTokensPerThread",
    used: ({ thread }) => thread.tokens,
  },
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
