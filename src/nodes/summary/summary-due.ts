import { measureInput } from "../../history/long-threads/measure-input.js";
import { isSummaryDue, type SummaryPolicy } from "../../history/long-threads/plan-summary.js";
import { isUserMessage } from "../../history/messages/summary.js";
import { type AgentState, turnOf } from "../run/agent-state.js";

/** How much the input must grow before another summary is tried in the same turn, as a fraction. */
const GROWTH = 0.25;
const LONGEST_WAIT = 8;

/**
 * Whether the run makes a summary now. After an attempt that worked, or that had nothing to cover, the next one waits
 * for another turn or for a larger input. After attempts that failed it waits for more and more turns. It is never
 * made at every step.
 */
export function shouldSummarize(state: AgentState, policy: SummaryPolicy): boolean {
  if (!isSummaryDue(state.messages, policy)) return false;
  const attempt = state.summaryAttempt;
  if (attempt === undefined) return true;
  const { failures = 0 } = attempt;
  if (failures > 0) return turnsSince(attempt.turn, state) >= turnsToWait(failures);
  if (attempt.turn !== turnOf(state).startedBy) return true;
  const grown = measureInput(state.messages, policy) - attempt.tokens;
  return grown >= Math.max(policy.maxTokens, attempt.tokens) * GROWTH;
}

/** 1, 2, 4, then 8: a summariser that fails costs a request only now and then. */
export function turnsToWait(failures: number): number {
  return Math.min(2 ** (failures - 1), LONGEST_WAIT);
}

/** How many turns began after this one. Infinity if its message is gone. */
function turnsSince(turn: string | undefined, { messages }: AgentState): number {
  const start = messages.findLastIndex(({ id }) => id === turn);
  if (turn === undefined ? !messages.some(isUserMessage) : start >= 0)
    return messages.slice(start + 1).filter(isUserMessage).length;
  return Number.POSITIVE_INFINITY;
}
