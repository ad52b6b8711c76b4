/** Decides when a run summarises its history, and what it keeps. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { countTextTokens } from "../history/long-threads/count-tokens.js";
import type { SummaryPolicy } from "../history/long-threads/plan-summary.js";
import { toJson } from "../shared/to-json.js";
import { budgetOf, withinLearned } from "./input-budget.js";
import type { RunContext } from "./run-context.js";
import type { Settings } from "./settings.js";

/** The settings of a graph that make up its policy. The context of a run has precedence over them. */
export type SummarySettings = Pick<
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

/**
 * How many tokens a model input can have before a summary is due. 0 means no limit.
 *
 * @param given The limit that the run or the graph names.
 */
export function budgetFor(model: BaseChatModel | undefined, given: number | undefined): number {
  if (model === undefined) return given ?? 0;
  return given === undefined ? (budgetOf(model) ?? 0) : withinLearned(given, model);
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

/** How many tokens the tool schemas of a request have, by our estimate. */
export function countToolTokens(tools: readonly BindToolsInput[]): number {
  return tools.reduce((sum, tool) => sum + tokensOfTool(tool), 0);
}

/** A program can make a graph for each run from the same tools, and the JSON schema of a tool takes long to make. */
const known = new WeakMap<BindToolsInput, number>();

function tokensOfTool(tool: BindToolsInput): number {
  const tokens = known.get(tool) ?? countTextTokens(toJson(convertToOpenAITool(tool)) ?? "");
  known.set(tool, tokens);
  return tokens;
}
