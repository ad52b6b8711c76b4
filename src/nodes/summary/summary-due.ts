import { measureInput } from "../../history/measure-input.js";
import { isSummaryDue, type SummaryPolicy } from "../../history/plan-summary.js";
import { type AgentState, turnOf } from "../run/agent-state.js";

/** By how much the input must have grown before a summary is tried again in the same turn. */
const GROWTH = 0.25;

/**
 * Whether the run is to pass the summarize node now. After an attempt, also one that failed or found nothing to
 * cover, the next is made in another turn or when the input has grown: never at every step.
 */
export function shouldSummarize(state: AgentState, policy: SummaryPolicy): boolean {
  if (!isSummaryDue(state.messages, policy)) return false;
  const attempt = state.summaryAttempt;
  if (attempt === undefined || attempt.turn !== turnOf(state).startedBy) return true;
  const grown = measureInput(state.messages, policy) - attempt.tokens;
  return grown >= Math.max(policy.maxTokens, attempt.tokens) * GROWTH;
}
