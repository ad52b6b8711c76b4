/** What a graph is made of: all that follows from the options, resolved once and held by the graph. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { InvalidSettingError } from "../errors.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import { checkProviderTools, withProviderTools } from "../providers/models/tools.js";
import { type OwnState, readStateSchema } from "../threads/own-state.js";
import { type SummaryWording, summaryWording } from "../threads/summary.js";
import { countToolTokens, summaryPolicy } from "../threads/summary-settings.js";
import { type CallPolicy, createCallPolicy } from "./approval-rules.js";
import { type FormatPlan, formatTools, readResponseFormat } from "./format/response-format.js";
import { type MiddlewareByKind, sortMiddleware } from "./middleware/middleware.js";
import { type Models, prepareModels, type ResolveModel } from "./models.js";
import {
  checkAllowedSettings,
  type OwnContext,
  type RunContext,
  readContextSchema,
  readRunContext,
  settingsInRun,
} from "./settings/run-context.js";
import { resolveSettings, type Settings, type SettingsOptions } from "./settings/settings.js";
import { checkTools, readToolChoice, returnsDirectly, toolName } from "./settings/tools.js";

export interface AgentPlan {
  /** The options with their defaults. */
  readonly settings: Settings;
  /** The tools whose calls the graph runs, by name. */
  readonly tools: ReadonlyMap<string, StructuredToolInterface>;
  /** The tools that the model is offered: those of the graph, of the caller and of the provider. */
  readonly offered: readonly BindToolsInput[];
  /** The names that `toolChoice` can require. */
  readonly requirableNames: readonly string[];
  /** The names of the tools whose results end the run. */
  readonly returnDirect: ReadonlySet<string>;
  readonly callPolicy: CallPolicy;
  /** The format of the final response. Undefined: a text. */
  readonly formatPlan: FormatPlan | undefined;
  readonly models: Models;
  /** The model that writes the summaries of a run that names this model. */
  readonly resolveSummaryModel: ResolveModel;
  readonly summaryPolicy: SummaryPolicyOf;
  readonly summaryWording: SummaryWording;
  /** The graph's own middleware. It goes around that of a run. */
  readonly middleware: MiddlewareByKind;
  readonly ownState: OwnState;
  readonly ownContext: OwnContext;
}

/** @throws InvalidSettingError, InvalidToolError or InvalidModelError for options that a graph cannot have. */
export function planAgent(options: SettingsOptions): AgentPlan {
  const settings = resolveSettings(options);
  const formatPlan = readResponseFormat(settings.responseFormat);
  const ofFormat = formatPlan === undefined ? [] : formatTools(formatPlan);
  const { tools, additionalTools, providerTools } = checkTools(
    settings.tools,
    settings.additionalTools,
    ofFormat,
  );
  const offered = [...tools, ...additionalTools, ...providerTools];
  const requirableNames = [...offered, ...ofFormat].map(toolName).filter((name) => name !== "");
  readToolChoice(settings.toolChoice, requirableNames);
  const middleware = sortMiddleware(settings.middleware);
  const { model, models: others, fallbackModels: fallbacks, summaryModel, createModel } = settings;
  const given = prepareModels("model", { model, others, fallbacks }, createModel);
  checkProviderTools(providerTools, [model, ...others, ...fallbacks]);
  const resolve: ResolveModel = async (name, position) =>
    withProviderTools(await given.resolve(name, position), providerTools);
  const ownState = readStateSchema(settings.stateSchema);
  if (formatPlan !== undefined && ownState.keys.includes("structuredResponse"))
    throw InvalidSettingError.expected(
      "stateSchema",
      "without `structuredResponse`, which is the key of `responseFormat`",
      settings.stateSchema,
    );
  const ownContext = readContextSchema(settings.contextSchema, settings);
  checkAllowedSettings(settings.allowedSettings);
  const summarizer =
    summaryModel === undefined
      ? undefined
      : prepareModels("summaryModel", { model: summaryModel }, createModel);
  const names = tools.map(toolName);
  return {
    settings,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    offered,
    requirableNames,
    returnDirect: new Set(tools.filter(returnsDirectly).map(toolName)),
    callPolicy: createCallPolicy({
      autoInvoke: settings.autoInvoke,
      toolNames: names,
      additionalNames: additionalTools.map(toolName),
      requireApproval: settings.requireApproval,
    }),
    formatPlan,
    models: { ...given, resolve },
    resolveSummaryModel: summarizer === undefined ? resolve : () => summarizer.resolve(undefined),
    summaryPolicy: createSummaryPolicy(settings, [...offered, ...ofFormat], resolve),
    summaryWording: summaryWording(settings.summaryLanguage, {
      heading: settings.summaryHeading,
      instructions: settings.summaryPrompt,
    }),
    middleware,
    ownState,
    ownContext,
  };
}

/**
 * Reads the settings for this graph from the context of a run. A subgraph gets the context of its parent and ignores the
 * parent's fields.
 *
 * @throws InvalidSettingError for an invalid context.
 */
export function readSettingsOfRun(
  { settings, ownContext, models, requirableNames }: AgentPlan,
  context: unknown,
  isSubgraph: boolean,
): RunContext {
  const chosen = readRunContext(context, {
    limits: settings,
    allowed: settings.allowedSettings,
    ownKeys: ownContext.keys,
    ignoresUnknown: isSubgraph,
  });
  models.check(chosen.model);
  if (chosen.toolChoice !== undefined) readToolChoice(chosen.toolChoice, requirableNames);
  return chosen;
}

/**
 * Contract: never rejects. Resolves to the same policy at each step of a run, unless the model refuses a request as too
 * long. Then the limit gets smaller. A position above 0 is that of the fallback model that the turn has come to.
 */
type SummaryPolicyOf = (context: RunContext, position?: number) => Promise<SummaryPolicy>;

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
    // `messagesToKeep` and `tokensToKeep` exclude each other, so both come from the same source.
    const tokensToKeep = context.messagesToKeep === undefined ? chosen.tokensToKeep : context.tokensToKeep;
    const dialect = position === 0 ? settings.dialect : undefined;
    return summaryPolicy({ ...chosen, tokensToKeep }, model, dialect, toolTokens);
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
