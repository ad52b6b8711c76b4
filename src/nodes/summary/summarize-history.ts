import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countTokens } from "../../history/long-threads/count-tokens.js";
import { coverPlan } from "../../history/long-threads/cover-plan.js";
import { safeCuts } from "../../history/long-threads/find-safe-cutoff.js";
import { measureInput, sumTokens } from "../../history/long-threads/measure-input.js";
import {
  planSummary,
  type SummaryPlan,
  type SummaryPolicy,
  TARGET,
} from "../../history/long-threads/plan-summary.js";
import { type Coverage, createSummary } from "../../history/messages/summary.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { budgetOf } from "../../settings/input-budget.js";
import { isError } from "../../shared/is-error.js";
import { emitEvent } from "../run/agent-event.js";
import { type AgentState, type AgentUpdate, turnOf } from "../run/agent-state.js";
import type { RunTally } from "../run/run-tally.js";
import { NO_USAGE } from "../run/thread-usage.js";
import { archiveMessages } from "./archive.js";
import { turnsToWait } from "./summary-due.js";
import type { SummaryWording } from "./summary-prompts.js";
import { mostMessages, type SummaryWriter, writeSummary } from "./write-summary.js";

export interface SummaryRequest {
  readonly policy: SummaryPolicy;
  readonly wording: SummaryWording;
  readonly timeoutMs: number;
  /** How often a response of the summariser that is not complete is requested again. */
  readonly maxStreamFallbackAttempts: number;
  readonly coveredMessages: Coverage["kind"];
  /** Contract: makes the model that writes the summary. */
  readonly resolveModel: () => Promise<BaseChatModel>;
  /** The tally of the run, which counts what the summary costs. */
  readonly tally?: RunTally | undefined;
}

/**
 * Replaces the earlier part of the history by one summary. If that fails for any reason, the history stays unchanged,
 * and an event says so.
 *
 * @throws The reason of the abort, if the run is aborted.
 */
export async function summarizeHistory(
  state: AgentState,
  {
    policy,
    wording,
    timeoutMs,
    maxStreamFallbackAttempts,
    coveredMessages,
    resolveModel,
    tally,
  }: SummaryRequest,
  config: LangGraphRunnableConfig,
): Promise<AgentUpdate> {
  const attempt = { turn: turnOf(state).startedBy, tokens: measureInput(state.messages, policy) };
  const due = planSummary(state.messages, policy);
  if (due === undefined) return { summaryAttempt: attempt };
  const { failures = 0 } = state.summaryAttempt ?? {};
  const tokensBefore = tally?.tokens ?? 0;
  const cost = () => costUpdate(state, (tally?.tokens ?? 0) - tokensBefore);
  try {
    const model = await resolveModel();
    const writer: SummaryWriter = {
      model,
      wording,
      timeoutMs,
      // A summariser that failed before is asked once.
      maxFallbackAttempts: failures > 0 ? 0 : maxStreamFallbackAttempts,
      tokensPerStep: tokensPerStep(policy, model),
      mostTokens: policy.maxTokens > 0 ? policy.maxTokens * TARGET : Number.POSITIVE_INFINITY,
      tally,
    };
    const plan = firstPart(due, mostMessages(writer));
    const text = await writeSummary(plan, writer, config);
    const coverage = coverPlan(plan, state.messages, coveredMessages);
    if (coverage.kind === "archive") await archive(coverage, state.messages, config);
    const summary = createSummary(text, coverage);
    const before = sumTokens([...plan.summaries, ...plan.lateResults, ...plan.covered]);
    const tokensSaved = before - countTokens(summary);
    emitEvent(config, { type: "summary-made", covered: coverage.messages, tokensSaved });
    const summaryAttempt = { ...attempt, tokens: attempt.tokens - tokensSaved };
    // A plain object: LangGraph would show a message instance in the chat stream.
    return { messages: [toPlain(summary)], summaryAttempt, ...cost() };
  } catch (error) {
    if (config.signal?.aborted === true) throw error;
    emitEvent(config, {
      type: "summary-failed",
      reason: isError(error) ? error.message : String(error),
      retryAfterTurns: turnsToWait(failures + 1),
    });
    return { summaryAttempt: { ...attempt, failures: failures + 1 }, ...cost() };
  }
}

/** A summary that failed was paid for too. */
function costUpdate(state: AgentState, tokens: number): AgentUpdate {
  if (tokens === 0) return {};
  const turn = turnOf(state);
  return {
    turn: { ...turn, tokens: (turn.tokens ?? 0) + tokens },
    threadUsage: { ...NO_USAGE, tokens },
  };
}

/** What a summariser reads at a time, even if the thread has a small budget. */
const USUAL_TOKENS_PER_STEP = 4_000;
/** What any model can read at a time. */
const LEAST_TOKENS_PER_STEP = 400;

/** The summariser may have a smaller window than the model of the run. */
function tokensPerStep({ maxTokens }: SummaryPolicy, model: BaseChatModel): number {
  const wanted = Math.max(maxTokens, USUAL_TOKENS_PER_STEP);
  return Math.max(Math.min(wanted, budgetOf(model) ?? wanted), LEAST_TOKENS_PER_STEP);
}

/** The plan for the oldest messages. The next summary covers the others. */
function firstPart(plan: SummaryPlan, most: number): SummaryPlan {
  if (plan.covered.length <= most) return plan;
  const end = safeCuts(plan.covered).lastIndexOf(true, most);
  return end > 0 ? { ...plan, covered: plan.covered.slice(0, end) } : plan;
}

async function archive(
  coverage: Coverage,
  history: readonly BaseMessage[],
  { store, configurable }: LangGraphRunnableConfig,
): Promise<void> {
  const threadId: unknown = configurable?.["thread_id"];
  if (store === undefined || typeof threadId !== "string") {
    throw new Error('`coveredMessages: "archive"` needs a store and a thread');
  }
  const covered = new Set(coverage.messages);
  // The store is written first. If the process dies before the state is written, the next attempt writes the same
  // again.
  const leaving = history.filter(({ id }) => id !== undefined && covered.has(id));
  await archiveMessages(store, threadId, leaving);
}
