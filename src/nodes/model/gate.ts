/**
 * Decides on the complete state whether the model is called. The decision is at the beginning of the model node,
 * because an edge after parallel tasks is evaluated once for each task, and sees only that task's write.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { groupMessages } from "../../history/calls/group.js";
import { unansweredCalls } from "../../history/calls/open-calls.js";
import type { SummaryPolicy } from "../../history/long-threads/plan-summary.js";
import { callsOf } from "../../history/messages/call.js";
import { endsRun, isResult } from "../../history/messages/result.js";
import type { LoopLimits } from "../../settings/loop-limits.js";
import { type AgentState, type ClosingReason, type Turn, turnOf } from "../run/agent-state.js";
import { isThreadUsedUp, type Spending, usedUpBudget } from "../run/budgets.js";
import { STEPS_OF_A_ROUND, STEPS_OF_A_SUMMARY } from "../run/superstep-budget.js";
import { NO_USAGE } from "../run/thread-usage.js";
import { shouldSummarize } from "../summary/summary-due.js";

export type GateDecision =
  /** Calls of the open group are in flight, or there is nothing to respond to. */
  | { readonly kind: "wait" }
  /** The group is complete and the run ends: a middleware said so, or the required call was made. */
  | { readonly kind: "end" }
  | { readonly kind: "summarize" }
  | { readonly kind: "call"; readonly turn: Turn }
  /** The tokens of the thread were used up before this turn, so the model is not called. */
  | { readonly kind: "used-up"; readonly turn: Turn; readonly reason: "max-tokens-per-thread" }
  /** The model is called with tools off, for a final response. */
  | { readonly kind: "close"; readonly turn: Turn; readonly reason: ClosingReason | "after-required" };

export interface GateLimits {
  readonly limits: LoopLimits;
  readonly policy: SummaryPolicy;
  /** The names of the tools whose results end the run. @default none */
  readonly returnDirect?: ReadonlySet<string> | undefined;
  /** Supersteps that the run can take after this one. */
  readonly stepsLeft: number;
}

export function decideAtGate(
  state: AgentState,
  { limits, policy, stepsLeft, returnDirect }: GateLimits,
): GateDecision {
  const last = state.messages.at(-1);
  if (last === undefined || unansweredCalls(state.messages).pending.length > 0) return { kind: "wait" };
  if (last.type === "ai") return { kind: "wait" };
  if (isResult(last) && (isGroupEnded(state) || isReturnedDirectly(state, returnDirect)))
    return { kind: "end" };
  if (isThreadUsedUp(state, limits)) {
    const reason = "max-tokens-per-thread";
    return { kind: "used-up", turn: { ...turnOf(state), closing: reason }, reason };
  }
  if (stepsLeft >= STEPS_OF_A_SUMMARY && shouldSummarize(state, policy)) return { kind: "summarize" };
  const turn = countRound(turnOf(state), state);
  const spending = { turn, thread: state.threadUsage ?? NO_USAGE };
  const reason = turn.closing ?? closingReason(spending, limits, stepsLeft);
  if (reason !== undefined) return { kind: "close", turn: { ...turn, closing: reason }, reason };
  if (turn.afterRequired === "answer") return { kind: "close", turn, reason: "after-required" };
  return { kind: "call", turn: { ...turn, iterations: turn.iterations + 1 } };
}

function isGroupEnded(state: AgentState): boolean {
  return turnOf(state).afterRequired === "end" || lastResults(state).some(endsRun);
}

/**
 * Whether all calls of the latest batch were answered by tools whose results are meant for the user. If one of them
 * failed, or another tool was called beside them, the model has something to respond to.
 */
function isReturnedDirectly({ messages }: AgentState, direct: GateLimits["returnDirect"]): boolean {
  if (direct === undefined || direct.size === 0) return false;
  const head = messages.findLastIndex((message) => !isResult(message));
  const [group] = groupMessages(messages.slice(Math.max(head, 0)), callsOf).groups;
  if (group === undefined) return false;
  return group.calls.every(({ name }, index) => direct.has(name) && group.results[index]?.status !== "error");
}

/** The results at the end of the history. */
function lastResults({ messages }: AgentState): readonly BaseMessage[] {
  return messages.slice(messages.findLastIndex((message) => !isResult(message)) + 1);
}

function closingReason(spending: Spending, limits: LoopLimits, stepsLeft: number): ClosingReason | undefined {
  const { turn } = spending;
  if (turn.iterations >= limits.maxIterations) return "max-iterations";
  if (turn.toolCalls >= limits.maxToolCalls) return "max-tool-calls";
  if (turn.consecutiveErrors >= limits.maxConsecutiveErrors) return "max-consecutive-errors";
  if (stepsLeft < STEPS_OF_A_ROUND) return "recursion-limit";
  return usedUpBudget(spending, limits);
}

/** The turn, updated with the outcome of the round that has just ended, if any. */
function countRound(turn: Turn, { messages }: AgentState): Turn {
  const last = messages.at(-1);
  if (last === undefined || !isResult(last)) return turn;
  const head = messages.findLastIndex((message) => !isResult(message));
  const { groups } = groupMessages(messages.slice(Math.max(head, 0)), callsOf);
  const hasFailed = groups.every(({ results }) => results.every((result) => result?.status === "error"));
  return { ...turn, consecutiveErrors: hasFailed ? turn.consecutiveErrors + 1 : 0 };
}
