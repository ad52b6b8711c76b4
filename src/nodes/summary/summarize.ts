import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countTokens } from "../../history/count-tokens.js";
import { coverPlan } from "../../history/cover-plan.js";
import { measureInput, sumTokens } from "../../history/measure-input.js";
import { planSummary, TARGET } from "../../history/plan-summary.js";
import { type Coverage, createSummary } from "../../history/summary.js";
import { toPlain } from "../../history/to-plain.js";
import { windowBudgetOf } from "../../settings/input-budget.js";
import type { RunContext } from "../../settings/run-context.js";
import type { SummaryPolicyOf } from "../../settings/summary-policy.js";
import { emitEvent } from "../run/agent-event.js";
import { type AgentState, type AgentUpdate, turnOf } from "../run/agent-state.js";
import { archiveMessages } from "./archive.js";
import type { SummaryWording } from "./summary-prompts.js";
import { type SummaryWriter, writeSummary } from "./write-summary.js";

export interface SummarizeNodeOptions {
  /** Contract: resolves to the model that writes summaries in a run that names this model. */
  readonly resolveSummaryModel: (name: string | undefined) => Promise<BaseChatModel>;
  readonly summaryPolicy: SummaryPolicyOf;
  readonly summaryWording: SummaryWording;
  readonly summaryTimeoutMs: number;
  /** How often the summariser is asked again if its answer is not whole. */
  readonly maxStreamFallbackAttempts: number;
  readonly coveredMessages: Coverage["kind"];
}

/** A summariser reads at least so much at a time, however small the budget of the thread is. */
const LEAST_TOKENS_PER_STEP = 4000;

/**
 * Lets one summary stand for the earlier part of the history. If that fails, for whatever reason, the history stays
 * as it was, an event says so, and the run goes on.
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
        reason: error instanceof Error ? error.message : String(error),
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
  // The store first: if the process dies before the state is written, the same is written again.
  const leaving = history.filter(({ id }) => id !== undefined && covered.has(id));
  await archiveMessages(store, threadId, leaving);
}
