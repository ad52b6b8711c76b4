/** The summarize node. */

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { cachesToolChoice } from "../../providers/models/tools.js";
import { NO_FURTHER_REQUESTS } from "../../threads/asking/rungs.js";
import type { AgentState, AgentUpdate } from "../../threads/state.js";
import { type AskInConversation, summarizeHistory, summaryWording } from "../../threads/summary/summarize.js";
import { type AgentPlan, type ModelStep, planStep } from "../plan.js";
import { runOf } from "../run/handle.js";
import { makeModel } from "../settings/models.js";
import type { RunContext } from "../settings/run-context.js";
import { askForStep } from "./ask-in-middleware.js";
import { requestOf } from "./request.js";

export function createSummarizeNode(plan: AgentPlan) {
  const { summaryModel, summaryLanguage, createModel } = plan.settings;
  const wording = summaryWording(summaryLanguage);
  return async function summarize(
    state: AgentState,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<AgentUpdate> {
    const step = await planStep(plan, state, config);
    const { inputs } = runOf(config);
    const { settings, models, policy } = step;
    return summarizeHistory(
      state,
      {
        policy,
        wording,
        timeoutMs: settings.summaryTimeoutMs,
        maxStreamFallbackAttempts: settings.maxStreamFallbackAttempts,
        coveredMessages: settings.coveredMessages,
        checkpoints: inputs.checkpoints,
        resolveModel: () =>
          summaryModel === undefined
            ? models.make(models.at(models.position))
            : makeModel(summaryModel, createModel),
        askInConversation: askerInConversation(step),
        tally: inputs.tally,
      },
      config,
    );
  };
}

/**
 * Asks the run's own model as the model node does, chat middleware included, so that the request begins like the last
 * one. Undefined if that is not possible: the summary has its own model, calls are left out of the input, or the
 * response must have a format.
 */
function askerInConversation(step: ModelStep): AskInConversation | undefined {
  const { summaryModel, maxToolCallsFromHistory } = step.settings;
  if ((summaryModel ?? maxToolCallsFromHistory ?? step.plan.formatPlan) !== undefined) return undefined;
  return async (isShown, question, maxFallbackAttempts, config) => {
    const usual = requestOf(step);
    const { message, hasResponded, isTerminated } = await askForStep(
      {
        ...usual,
        history: [...step.state.messages.filter(isShown), question],
        models: { ...step.models, last: step.models.position },
        // The transcript that follows a refusal contains only texts.
        further: NO_FURTHER_REQUESTS,
        toolChoice: "none",
        addFormat: (offer, model) => {
          const keepsChoice = usual.toolChoice === "auto" && cachesToolChoice(model);
          return keepsChoice ? { ...offer, toolChoice: "auto" } : offer;
        },
        maxFallbackAttempts,
        isSummary: true,
      },
      config,
    );
    // If a middleware replaces the response, it is not a summary.
    return hasResponded && !isTerminated ? message : undefined;
  };
}
