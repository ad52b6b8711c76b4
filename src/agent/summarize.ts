/** The summarize node, and when a run summarises its history. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { countTextTokens } from "../history/size.js";
import type { Coverage } from "../history/summary.js";
import { type AgentState, type AgentUpdate, turnOf } from "../threads/state.js";
import { type SummaryWording, summarizeHistory } from "../threads/summary.js";
import { budgetFor, countToolTokens } from "../threads/summary-settings.js";
import { positionIn, runRecordOf } from "./run-handle.js";
import type { RunContext } from "./settings/run-context.js";
import type { Settings } from "./settings/settings.js";

export interface SummarizeNodeOptions {
  /**
   * Contract: resolves to the model that writes the summaries of a run that names this model. A position above 0 is that
   * of the fallback model that the turn has come to.
   */
  readonly resolveSummaryModel: (name: string | undefined, position?: number) => Promise<BaseChatModel>;
  readonly summaryPolicy: SummaryPolicyOf;
  readonly summaryWording: SummaryWording;
  readonly summaryTimeoutMs: number;
  /** How often a response of the summariser that is not complete is requested again. */
  readonly maxStreamFallbackAttempts: number;
  readonly coveredMessages: Coverage["kind"];
}

export function createSummarizeNode(options: SummarizeNodeOptions) {
  return async function summarize(
    state: AgentState,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<AgentUpdate> {
    const context = config.context ?? {};
    const position = positionIn(turnOf(state), context.model);
    return summarizeHistory(
      state,
      {
        policy: await options.summaryPolicy(context, position),
        wording: options.summaryWording,
        timeoutMs: options.summaryTimeoutMs,
        maxStreamFallbackAttempts: options.maxStreamFallbackAttempts,
        coveredMessages: options.coveredMessages,
        resolveModel: () => options.resolveSummaryModel(context.model, position),
        tally: runRecordOf(config)?.tally,
      },
      config,
    );
  };
}

/** The settings of a graph that make up its policy. The context of a run has precedence over them. */
type SummarySettings = Pick<
  Settings,
  | "systemPrompt"
  | "maxToolCallsFromHistory"
  | "maxTokensBeforeSummary"
  | "maxMessagesBeforeSummary"
  | "messagesToKeep"
  | "tokensToKeep"
>;

/**
 * Contract: never rejects. Resolves to the same policy at each step of a run, unless the model refuses a request as too
 * long. Then the limit gets smaller. A position above 0 is that of the fallback model that the turn has come to.
 */
export type SummaryPolicyOf = (context: RunContext, position?: number) => Promise<SummaryPolicy>;

type ResolveModel = (name: string | undefined, position?: number) => Promise<BaseChatModel>;

/** Makes the policy of a run from its context and the settings of its graph. The context has precedence. */
export function createSummaryPolicy(
  settings: SummarySettings,
  tools: readonly BindToolsInput[],
  resolveModel: ResolveModel,
): SummaryPolicyOf {
  const toolTokens = countToolTokens(tools);
  const modelOf = rememberModels(resolveModel);
  return async (context, position = 0) => {
    // `messagesToKeep` and `tokensToKeep` exclude each other, so both come from the same source.
    const keeps = context.messagesToKeep !== undefined || context.tokensToKeep !== undefined;
    return {
      maxTokens: budgetFor(
        await modelOf(context.model, position),
        context.maxTokensBeforeSummary ?? settings.maxTokensBeforeSummary,
      ),
      maxMessages: context.maxMessagesBeforeSummary ?? settings.maxMessagesBeforeSummary,
      messagesToKeep: context.messagesToKeep ?? settings.messagesToKeep,
      tokensToKeep: keeps ? context.tokensToKeep : settings.tokensToKeep,
      maxToolCalls: context.maxToolCallsFromHistory ?? settings.maxToolCallsFromHistory,
      toolTokens,
      promptTokens: countTextTokens(context.systemPrompt ?? settings.systemPrompt ?? ""),
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
