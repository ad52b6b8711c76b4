/** The summarize node, and when a run summarises its history. */

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { cachesToolChoice } from "../providers/models/tools.js";
import { type AgentState, type AgentUpdate, turnOf } from "../threads/state.js";
import { type AskInConversation, summarizeHistory } from "../threads/summary.js";
import { askModel, type ModelRequest, requestOf } from "./ask-model.js";
import { positionIn } from "./models.js";
import type { AgentPlan } from "./plan.js";
import { runOf } from "./run-handle.js";
import { type RunContext, settingsInRun } from "./settings/run-context.js";

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
