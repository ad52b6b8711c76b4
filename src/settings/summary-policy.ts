/** How many tokens a model input can have, and how many of them its tools take. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { countTextTokens } from "../history/long-threads/count-tokens.js";
import { toJson } from "../shared/to-json.js";
import { budgetOf, withinLearned } from "./input-budget.js";

/**
 * How many tokens a model input can have before a summary is due. 0 means no limit.
 *
 * @param given The limit that the run or the graph names.
 */
export function budgetFor(model: BaseChatModel | undefined, given: number | undefined): number {
  if (model === undefined) return given ?? 0;
  return given === undefined ? (budgetOf(model) ?? 0) : withinLearned(given, model);
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
