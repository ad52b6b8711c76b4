/** The summarize node, and when a run summarises its history. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { countTextTokens } from "../history/size.js";
import { type AgentState, type AgentUpdate, turnOf } from "../threads/state.js";
import { summarizeHistory } from "../threads/summary.js";
import { budgetFor, countToolTokens } from "../threads/summary-settings.js";
import { positionIn, type ResolveModel } from "./models.js";
import type { AgentPlan } from "./plan.js";
import { runOf } from "./run-handle.js";
import { type RunContext, settingsInRun } from "./settings/run-context.js";
import type { Settings } from "./settings/settings.js";

export type SummarizePlan = Pick<AgentPlan, "resolveSummaryModel" | "summaryPolicy" | "summaryWording"> & {
  readonly settings: Pick<Settings, "summaryTimeoutMs" | "maxStreamFallbackAttempts" | "coveredMessages">;
};

export function createSummarizeNode(plan: SummarizePlan) {
  return async function summarize(
    state: AgentState,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<AgentUpdate> {
    const { summaryTimeoutMs, maxStreamFallbackAttempts, coveredMessages } = plan.settings;
    const context = config.context ?? {};
    const position = positionIn(turnOf(state), context.model);
    return summarizeHistory(
      state,
      {
        policy: await plan.summaryPolicy(context, position),
        wording: plan.summaryWording,
        timeoutMs: summaryTimeoutMs,
        maxStreamFallbackAttempts,
        coveredMessages,
        resolveModel: () => plan.resolveSummaryModel(context.model, position),
        tally: runOf(config).record.tally,
      },
      config,
    );
  };
}

/**
 * Contract: never rejects. Resolves to the same policy at each step of a run, unless the model refuses a request as too
 * long. Then the limit gets smaller. A position above 0 is that of the fallback model that the turn has come to.
 */
export type SummaryPolicyOf = (context: RunContext, position?: number) => Promise<SummaryPolicy>;

/** Makes the policy of a run from its context and the settings of its graph. The context has precedence. */
export function createSummaryPolicy(
  settings: Settings,
  tools: readonly BindToolsInput[],
  resolveModel: ResolveModel,
): SummaryPolicyOf {
  const toolTokens = countToolTokens(tools);
  const modelOf = rememberModels(resolveModel);
  return async (context, position = 0) => {
    const chosen = settingsInRun(settings, context);
    return {
      maxTokens: budgetFor(await modelOf(context.model, position), chosen.maxTokensBeforeSummary),
      maxMessages: chosen.maxMessagesBeforeSummary,
      messagesToKeep: chosen.messagesToKeep,
      // `messagesToKeep` and `tokensToKeep` exclude each other, so both come from the same source.
      tokensToKeep: context.messagesToKeep === undefined ? chosen.tokensToKeep : context.tokensToKeep,
      maxToolCalls: chosen.maxToolCallsFromHistory,
      toolTokens,
      promptTokens: countTextTokens(chosen.systemPrompt ?? ""),
    };
  };
}

/** Remembers each model, so that it is not made at each step only to read its input window. */
function rememberModels(
  resolveModel: ResolveModel,
): (name: string | undefined, position: number) => Promise<BaseChatModel | undefined> {
  const known = new Map<string | number | undefined, BaseChatModel>();
  return async (name, position) => {
    const key = position === 0 ? name : position;
    // If the model cannot be made, the model node reports it when it asks the model.
    const model = known.get(key) ?? (await resolveModel(name, position).catch(() => undefined));
    if (model !== undefined) known.set(key, model);
    return model;
  };
}
