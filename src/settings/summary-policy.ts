import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { countTextTokens } from "../history/count-tokens.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { toJson } from "../shared/to-json.js";
import type { RunContext } from "./run-context.js";

/** The settings of a graph that a run's context may override. */
export type SummarySettings = Pick<
  RunContext,
  | "systemPrompt"
  | "maxToolCallsFromHistory"
  | "maxTokensBeforeSummary"
  | "maxMessagesBeforeSummary"
  | "messagesToKeep"
  | "tokensToKeep"
>;

const DEFAULT_MAX_TOKENS = 4000;
const DEFAULT_MESSAGES_TO_KEEP = 20;

/** The policy of a run: what its context says, else what its graph was built with. */
export function createSummaryPolicy(
  settings: SummarySettings,
  tools: readonly BindToolsInput[],
): (context: RunContext) => SummaryPolicy {
  const toolTokens = countToolTokens(tools);
  return (context) => {
    // Each says how much stays; what the run says goes before what the graph says.
    const keeps = [context, settings].find((chosen) => chosen.messagesToKeep ?? chosen.tokensToKeep);
    return {
      maxTokens: context.maxTokensBeforeSummary ?? settings.maxTokensBeforeSummary ?? DEFAULT_MAX_TOKENS,
      maxMessages: context.maxMessagesBeforeSummary ?? settings.maxMessagesBeforeSummary ?? 0,
      messagesToKeep: keeps?.messagesToKeep ?? DEFAULT_MESSAGES_TO_KEEP,
      tokensToKeep: keeps?.tokensToKeep,
      maxToolCalls: context.maxToolCallsFromHistory ?? settings.maxToolCallsFromHistory,
      toolTokens,
      promptTokens: countTextTokens(context.systemPrompt ?? settings.systemPrompt ?? ""),
    };
  };
}

function countToolTokens(tools: readonly BindToolsInput[]): number {
  return tools.reduce((sum, tool) => sum + countTextTokens(toJson(convertToOpenAITool(tool)) ?? ""), 0);
}
