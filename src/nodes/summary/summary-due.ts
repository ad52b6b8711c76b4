import { measureInput } from "../../history/long-threads/measure-input.js";
import { isSummaryDue, type SummaryPolicy } from "../../history/long-threads/plan-summary.js";
import { type AgentState, turnOf } from "../run/agent-state.js";

/** How much the input must grow before another summary is tried in the same turn, as a fraction. */
const GROWTH = 0.25;

/**
 * Whether the run makes a summary now. After an attempt, even a failed one or one without messages to cover, the next
 * attempt waits for another turn or for a larger input. It is never made at every step.
 */
export function shouldSummarize(state: AgentState, policy: SummaryPolicy): boolean {
  if (!isSummaryDue(state.messages, policy)) return false;
  const attempt = state.summaryAttempt;
  if (attempt === undefined || attempt.turn !== turnOf(state).startedBy) return true;
  const grown = measureInput(state.messages, policy) - attempt.tokens;
  return grown >= Math.max(policy.maxTokens, attempt.tokens) * GROWTH;
}
