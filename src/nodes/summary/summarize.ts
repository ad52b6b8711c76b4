import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countTokens } from "../../history/long-threads/count-tokens.js";
import { coverPlan } from "../../history/long-threads/cover-plan.js";
import { measureInput, sumTokens } from "../../history/long-threads/measure-input.js";
import { planSummary, TARGET } from "../../history/long-threads/plan-summary.js";
import { type Coverage, createSummary } from "../../history/messages/summary.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { windowBudgetOf } from "../../settings/input-budget.js";
import type { RunContext } from "../../settings/run-context.js";
import type { SummaryPolicyOf } from "../../settings/summary-policy.js";
import { isError } from "../../shared/is-error.js";
import { emitEvent } from "../run/agent-event.js";
import { type AgentState, type AgentUpdate, turnOf } from "../run/agent-state.js";
import { archiveMessages } from "./archive.js";
import type { SummaryWording } from "./summary-prompts.js";
import { type SummaryWriter, writeSummary } from "./write-summary.js";

export interface SummarizeNodeOptions {
  /** Contract: resolves to the model that writes the summaries of a run that names this model. */
  readonly resolveSummaryModel: (name: string | undefined) => Promise<BaseChatModel>;
  readonly summaryPolicy: SummaryPolicyOf;
  readonly summaryWording: SummaryWording;
  readonly summaryTimeoutMs: number;
  /** How often a response of the summariser that is not complete is requested again. */
  readonly maxStreamFallbackAttempts: number;
  readonly coveredMessages: Coverage["kind"];
}

/** The least that a summariser reads at a time, even if the thread has a small budget. */
const LEAST_TOKENS_PER_STEP = 4000;

/**
 * Replaces the earlier part of the history by one summary. If that fails for any reason, the history stays unchanged,
 * an event says so, and the run continues.
 */
export function createSummarizeNode(options: SummarizeNodeOptions) {
  return async function summarize(
    state: AgentState,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<AgentUpdate> {
    const context = config.context ?? {};
    const policy = await options.summaryPolicy(context);
    const attempt = { turn: turnOf(state).startedBy, tokens: measureInput(state.messages, policy) };
    const plan = planSummary(state.messages, policy);
    if (plan === undefined) return { summaryAttempt: attempt };
    try {
      const model = await options.resolveSummaryModel(context.model);
      const writer: SummaryWriter = {
        model,
        wording: options.summaryWording,
        timeoutMs: options.summaryTimeoutMs,
        maxFallbackAttempts: options.maxStreamFallbackAttempts,
        // The summariser may have a smaller window than the model of the run.
        tokensPerStep: Math.min(
          Math.max(policy.maxTokens, LEAST_TOKENS_PER_STEP),
          windowBudgetOf(model) ?? Number.POSITIVE_INFINITY,
        ),
        mostTokens: policy.maxTokens > 0 ? policy.maxTokens * TARGET : Number.POSITIVE_INFINITY,
      };
      const text = await writeSummary(plan, writer, config);
      const coverage = coverPlan(plan, state.messages, options.coveredMessages);
      if (coverage.kind === "archive") await archive(coverage, state.messages, config);
      const summary = createSummary(text, coverage);
      const before = sumTokens([...plan.summaries, ...plan.lateResults, ...plan.covered]);
      const tokensSaved = before - countTokens(summary);
      emitEvent(config, { type: "summary-made", covered: coverage.messages, tokensSaved });
      const summaryAttempt = { ...attempt, tokens: attempt.tokens - tokensSaved };
      // A plain object: LangGraph would show a message instance in the chat stream.
      return { messages: [toPlain(summary)], summaryAttempt };
    } catch (error) {
      if (config.signal?.aborted === true) throw error;
      emitEvent(config, {
        type: "summary-failed",
        reason: isError(error) ? error.message : String(error),
      });
      return { summaryAttempt: attempt };
    }
  };
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
