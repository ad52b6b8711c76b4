import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countTokens } from "../history/count-tokens.js";
import { groupMessages } from "../history/group.js";
import { measureInput, sumTokens } from "../history/measure-input.js";
import { overheadOf, planSummary, type SummaryPlan, type SummaryPolicy } from "../history/plan-summary.js";
import { callIdOf, isPlaceholder, isResult } from "../history/result.js";
import { type Coverage, coverageOf, createSummary } from "../history/summary.js";
import { emitEvent } from "./agent-event.js";
import { type AgentState, type AgentUpdate, turnOf } from "./agent-state.js";
import { archiveMessages } from "./archive.js";
import { countStep } from "./run-handle.js";
import type { RunContext } from "./settings.js";
import type { SummaryWording } from "./summary-prompts.js";
import { type SummaryWriter, writeSummary } from "./write-summary.js";

export interface SummarizeNodeOptions {
  /** Contract: resolves to the model that writes summaries in a run that names this model. */
  readonly resolveSummaryModel: (name: string | undefined) => Promise<BaseChatModel>;
  readonly summaryPolicy: (context: RunContext) => SummaryPolicy;
  readonly summaryWording: SummaryWording;
  readonly summaryTimeoutMs: number;
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
    countStep(config);
    const context = config.context ?? {};
    const policy = options.summaryPolicy(context);
    const attempt = {
      turn: turnOf(state).startedBy,
      tokens: measureInput(state.messages, overheadOf(policy)),
    };
    const plan = planSummary(state.messages, policy);
    if (plan === undefined) return { summaryAttempt: attempt };
    try {
      const model = await options.resolveSummaryModel(context.model);
      const writer: SummaryWriter = {
        model,
        wording: options.summaryWording,
        timeoutMs: options.summaryTimeoutMs,
        tokensPerStep: Math.max(policy.maxTokens, LEAST_TOKENS_PER_STEP),
      };
      const text = await writeSummary(plan, writer, config);
      const coverage = coverPlan(plan, state.messages, options.coveredMessages);
      if (coverage.kind === "archive") await archive(coverage, state.messages, config);
      const saved = sumTokens([...plan.previous, ...plan.covered]) - countTokens(new HumanMessage(text));
      emitEvent(config, { type: "summary-made", covered: coverage.messages, tokensSaved: saved });
      const summaryAttempt = { ...attempt, tokens: attempt.tokens - saved };
      return { messages: [createSummary(text, coverage)], summaryAttempt };
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

/** Everything that the new summary stands for, in the order of the history. */
function coverPlan(plan: SummaryPlan, history: readonly BaseMessage[], kind: Coverage["kind"]): Coverage {
  const named = new Set<BaseMessage>([...plan.previous, ...plan.covered]);
  const messages = history.flatMap((message) => (named.has(message) ? (message.id ?? []) : []));
  const common = { messages, asOf: history.at(-1)?.id };
  if (kind === "keep") return { kind, ...common };
  const answered = new Set(plan.previous.filter(isResult).map(callIdOf));
  const takenOver = plan.previous.flatMap(unansweredOf).filter((id) => !answered.has(id));
  const groups = groupMessages(plan.covered).groups;
  const calls = groups.flatMap((group) => group.calls.map(({ id }) => id));
  const unanswered = groups.flatMap(({ calls, results }) =>
    calls.flatMap(({ id }, index) => (isAnswer(results[index]) ? [] : [id])),
  );
  return { kind, ...common, calls: [...takenOver, ...calls], unanswered: [...takenOver, ...unanswered] };
}

function unansweredOf(message: BaseMessage): readonly string[] {
  const coverage = coverageOf(message);
  return coverage?.kind === "archive" ? coverage.unanswered : [];
}

function isAnswer(result: BaseMessage | undefined): boolean {
  return result !== undefined && !isPlaceholder(result);
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
  await archiveMessages(
    store,
    threadId,
    history.filter(({ id }) => id !== undefined && covered.has(id)),
  );
}
