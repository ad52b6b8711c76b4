/** The summarize node, and when a run summarises its history. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { countTextTokens } from "../history/size.js";
import { cachesToolChoice } from "../providers/models/tools.js";
import { type AgentState, type AgentUpdate, turnOf } from "../threads/state.js";
import { type AskInConversation, summarizeHistory } from "../threads/summary.js";
import { budgetFor, compactionOf, countToolTokens } from "../threads/summary-settings.js";
import { askModel, type ModelRequest, requestOf } from "./ask-model.js";
import { positionIn, type ResolveModel } from "./models.js";
import type { AgentPlan } from "./plan.js";
import { runOf } from "./run-handle.js";
import { type RunContext, settingsInRun } from "./settings/run-context.js";
import type { Settings } from "./settings/settings.js";

export function createSummarizeNode(plan: AgentPlan) {
  return async function summarize(
    state: AgentState,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<AgentUpdate> {
    const { summaryTimeoutMs, maxStreamFallbackAttempts, coveredMessages } = plan.settings;
    const context = config.context ?? {};
    const position = positionIn(turnOf(state), context.model);
    const policy = await plan.summaryPolicy(context, position);
    return summarizeHistory(
      state,
      {
        policy,
        wording: plan.summaryWording,
        timeoutMs: summaryTimeoutMs,
        maxStreamFallbackAttempts,
        coveredMessages,
        resolveModel: () => plan.resolveSummaryModel(context.model, position),
        askInConversation: askerInConversation(plan, state, policy, context),
        tally: runOf(config).record.tally,
      },
      config,
    );
  };
}

/**
 * Asks the run's own model as the model node does, chat middleware included, so that the request begins as the one
 * before. Undefined if that is not possible: the summary has a model of its own, calls are left out of the input, or
 * the response must have a format.
 */
function askerInConversation(
  plan: AgentPlan,
  state: AgentState,
  policy: SummaryPolicy,
  context: RunContext,
): AskInConversation | undefined {
  const settings = settingsInRun(plan.settings, context);
  const { summaryModel, maxToolCallsFromHistory } = settings;
  if ((summaryModel ?? maxToolCallsFromHistory ?? plan.formatPlan) !== undefined) return undefined;
  return async (isShown, question, maxFallbackAttempts, config) => {
    const usual = requestOf(plan, state, settings, policy, config);
    const { models, input } = usual;
    let isAsked = false;
    const request: ModelRequest = {
      ...usual,
      history: [...state.messages.filter(isShown), question],
      // Results that are shortened to keep the budget would not be shown to the model.
      input: { ...input, budget: undefined },
      models: { ...models, last: models.position },
      toolChoice: "none",
      addFormat: (offer, model) => {
        isAsked = true;
        const keepsChoice = usual.toolChoice === "auto" && cachesToolChoice(model);
        return keepsChoice ? { ...offer, toolChoice: "auto" } : offer;
      },
      maxFallbackAttempts,
      isSummary: true,
    };
    const { message, isTerminated } = await askModel(request, config);
    // What a middleware gives in the place of a response is no summary.
    return isAsked && !isTerminated ? message : undefined;
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
    const model = await modelOf(context.model, position);
    return {
      maxTokens: budgetFor(model, chosen.maxTokensBeforeSummary),
      maxMessages: chosen.maxMessagesBeforeSummary,
      messagesToKeep: chosen.messagesToKeep,
      // `messagesToKeep` and `tokensToKeep` exclude each other, so both come from the same source.
      tokensToKeep: context.messagesToKeep === undefined ? chosen.tokensToKeep : context.tokensToKeep,
      maxToolCalls: chosen.maxToolCallsFromHistory,
      compactedAt: compactionOf(model, position === 0 ? settings.dialect : undefined),
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
