/**
 * What follows from a graph's options, a run's `context`, and the state that a model step finds. Each is read once, in
 * one place.
 */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { InvalidSettingError } from "../errors.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { checkProviderTools, withProviderTools } from "../providers/models/tools.js";
import { windowInThread } from "../threads/asking/help.js";
import { type OwnState, readStateSchema } from "../threads/own-state.js";
import { countToolTokens, summaryPolicy, warnOfNoLimit } from "../threads/shared-settings.js";
import { type AgentState, turnOf } from "../threads/state.js";
import { missingCheckpointer } from "../threads/stores.js";
import { checkMiddleware, type Middleware } from "./middleware/middleware.js";
import { type CallPolicy, createCallPolicy } from "./settings/approval-rules.js";
import {
  assertChoosable,
  checkModels,
  dialectAt,
  type ModelChain,
  makeModel,
  modelChain,
} from "./settings/models.js";
import { type FormatPlan, formatTools, readResponseFormat } from "./settings/response-format.js";
import {
  checkAllowedSettings,
  type OwnContext,
  type RunContext,
  readContextSchema,
  readRunContext,
  settingsInRun,
} from "./settings/run-context.js";
import { resolveSettings, type Settings, type SettingsOptions } from "./settings/settings.js";
import { checkTools, readToolChoice, toolName } from "./settings/tools.js";

export interface AgentPlan {
  /** The options with their defaults. */
  readonly settings: Settings;
  /** The tools whose calls the graph runs, by name. */
  readonly tools: ReadonlyMap<string, StructuredToolInterface>;
  /** The tools that the model is offered: the graph's, the caller's and the provider's. */
  readonly offered: readonly BindToolsInput[];
  /** The names that `toolChoice` can require: those of the offered tools and the response format. */
  readonly requirableNames: readonly string[];
  /** The tokens that all these tools' schemas take. */
  readonly toolTokens: number;
  readonly callPolicy: CallPolicy;
  /** The format of the final response. Undefined: text. */
  readonly formatPlan: FormatPlan | undefined;
  /** Contract: makes a model, with the tools that its provider runs. Rejects with a clear error. */
  readonly makeModel: ModelChain["make"];
  /** The graph's own middleware. It wraps the run's. */
  readonly middleware: readonly Middleware[];
  readonly ownState: OwnState;
  readonly ownContext: OwnContext;
}

/** @throws InvalidSettingError, InvalidToolError or InvalidModelError for options that a graph cannot have. */
export function planAgent(options: SettingsOptions): AgentPlan {
  const settings = resolveSettings(options);
  const formatPlan = readResponseFormat(settings.responseFormat);
  const ofFormat = formatPlan === undefined ? [] : formatTools(formatPlan);
  const { tools, additionalTools, providerTools } = checkTools(settings, ofFormat);
  const offered = [...tools, ...additionalTools, ...providerTools];
  const known = [...offered, ...ofFormat];
  const requirableNames = known.map(toolName).filter((name) => name !== "");
  readToolChoice(settings.toolChoice, requirableNames);
  const middleware = checkMiddleware(settings.middleware);
  checkModels(settings);
  const { model, models, fallbackModels, createModel } = settings;
  checkProviderTools(providerTools, [model, ...models, ...fallbackModels]);
  const ownState = readStateSchema(settings.stateSchema);
  if (formatPlan !== undefined && ownState.keys.includes("structuredResponse"))
    throw InvalidSettingError.expected(
      "stateSchema",
      "without `structuredResponse`, which is the key of `responseFormat`",
      settings.stateSchema,
    );
  checkAllowedSettings(settings.allowedSettings);
  const callPolicy = createCallPolicy({
    autoInvoke: settings.autoInvoke,
    toolNames: tools.map(toolName),
    additionalNames: additionalTools.map(toolName),
    requireApproval: settings.requireApproval,
  });
  assertSaved(settings, callPolicy);
  return {
    settings,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    offered,
    requirableNames,
    toolTokens: countToolTokens(known),
    callPolicy,
    formatPlan,
    makeModel: async (given) => withProviderTools(await makeModel(given, createModel), providerTools),
    middleware,
    ownState,
    ownContext: readContextSchema(settings.contextSchema, settings),
  };
}

/** @throws InvalidSettingError for options that need checkpoints in a graph that never has any. */
function assertSaved({ checkpointer, coveredMessages }: Settings, { asksHumans }: CallPolicy): void {
  if (checkpointer !== false) return;
  if (asksHumans) throw missingCheckpointer(checkpointer);
  if (coveredMessages === "archive")
    throw InvalidSettingError.expected(
      "coveredMessages",
      "`keep` with `checkpointer: false`, because checkpoints are the archive",
      coveredMessages,
    );
}

/**
 * Reads the settings for this graph from a run's context. A subgraph gets its parent's context and ignores the parent's
 * fields.
 *
 * @throws InvalidSettingError for an invalid context.
 */
export function planRun(
  { settings, ownContext, requirableNames }: AgentPlan,
  context: unknown,
  isSubgraph: boolean,
): RunContext {
  const chosen = readRunContext(context, settings, ownContext.keys, isSubgraph);
  assertChoosable(chosen.model, settings);
  if (chosen.toolChoice !== undefined) readToolChoice(chosen.toolChoice, requirableNames);
  return chosen;
}

/** One step of the model, or a summary for it. */
export interface ModelStep {
  readonly plan: AgentPlan;
  readonly state: AgentState;
  readonly config: LangGraphRunnableConfig<RunContext>;
  readonly settings: Settings;
  readonly models: ModelChain;
  readonly policy: SummaryPolicy;
}

export async function planStep(
  plan: AgentPlan,
  state: AgentState,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ModelStep> {
  const { context = {} } = config;
  const settings = settingsInRun(plan.settings, context);
  const models = modelChain(settings, plan.makeModel, turnOf(state), context.model);
  // If the model cannot be made, the request that follows says why.
  const model = await models.make(models.at(models.position)).catch(() => undefined);
  const policy = summaryPolicy(
    settings,
    model,
    dialectAt(models.position, models),
    plan.toolTokens,
    model && windowInThread(state.messages, model),
  );
  if (model !== undefined) warnOfNoLimit(settings, policy);
  return { plan, state, config, settings, models, policy };
}
