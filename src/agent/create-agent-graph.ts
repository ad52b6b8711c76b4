/** `createAgentGraph`: checks the options, and makes the graph. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { InvalidSettingError } from "../errors.js";
import { type CreateModel, parseModelName } from "../providers/models/create-model.js";
import { checkProviderTools, withProviderTools } from "../providers/models/tools.js";
import { isRecord } from "../shared/values.js";
import {
  type ContextOf,
  type OwnContextSchema,
  type OwnStateSchema,
  readStateSchema,
  type StateOf,
  type StateUpdateOf,
} from "../threads/own-state.js";
import { summaryWording } from "../threads/summary.js";
import { assertGivenModel, type GivenModel } from "../threads/window.js";
import { AgentGraph } from "./agent-graph.js";
import { createCallPolicy } from "./approval-rules.js";
import { recursionLimitFor } from "./budgets.js";
import { formatTools } from "./format/ask-in-format.js";
import { type ResponseFormat, readResponseFormat } from "./format/response-format.js";
import { buildStateGraph } from "./graph.js";
import { createSteeredReader, createTakeMessages } from "./inbox.js";
import { type Middleware, sortMiddleware } from "./middleware/middleware.js";
import type { StructuredValues } from "./run-types.js";
import { checkAllowedSettings, readContextSchema, readRunContext } from "./settings/run-context.js";
import { resolveSettings, type SettingsOptions } from "./settings/settings.js";
import { checkTools, readToolChoice, returnsDirectly, toolName } from "./settings/tools.js";
import { createSummaryPolicy } from "./summarize.js";

/** The options of `createAgentGraph`. Only `model` is required. `undefined` counts as left out. */
export interface AgentGraphOptions<
  State extends OwnStateSchema | undefined = OwnStateSchema | undefined,
  Context extends OwnContextSchema | undefined = OwnContextSchema | undefined,
  Format extends ResponseFormat | undefined = ResponseFormat | undefined,
> extends Omit<SettingsOptions, "responseFormat"> {
  readonly middleware?: readonly Middleware[] | undefined;
  readonly stateSchema?: State;
  readonly contextSchema?: Context;
  /**
   * The format of the final response: a zod or JSON schema, `toolStrategy(…)` or `providerStrategy(…)`. The response is
   * in `structuredResponse`. Default: a text.
   */
  readonly responseFormat?: Format | undefined;
}

/**
 * Makes an agent as a LangGraph graph. Invoke it, stream it, serve it, or use it as a node of another graph. In its
 * history every tool call is followed by its result, and the result of a finished tool is never lost.
 *
 * @param options The model, the tools and the other settings. The README lists them with their defaults.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not take.
 * @throws InvalidToolError for a tool that a provider would refuse, or if two tools have the same name.
 * @throws InvalidModelError for a model name that cannot be resolved, or if its key is missing.
 * @example
 * ```ts
 * import { tool } from "@langchain/core/tools";
 * import { createAgentGraph } from "langgraph-tether";
 * import { z } from "zod";
 *
 * const weather = tool(({ city }) => `${city}: 18 °C`, {
 *   name: "weather",
 *   description: "Tells the current weather in a city.",
 *   schema: z.object({ city: z.string() }),
 * });
 * // "offline:" is a small model for trials; a real one is "openai:gpt-4o-mini".
 * const agent = createAgentGraph({ model: "offline:", tools: [weather] });
 * const { messages } = await agent.invoke({ messages: 'call weather {"city": "Paris"}' });
 * console.log(messages.map((message) => message.type)); // [ 'human', 'ai', 'tool', 'ai' ]
 * console.log(messages.at(-1)?.text); // weather returned: Paris: 18 °C
 * ```
 */
export function createAgentGraph<
  State extends OwnStateSchema | undefined = undefined,
  Context extends OwnContextSchema | undefined = undefined,
  const Format extends ResponseFormat | undefined = undefined,
>(
  options: AgentGraphOptions<State, Context, Format>,
): AgentGraph<StateOf<State> & StructuredValues<Format>, StateUpdateOf<State>, ContextOf<Context>> {
  const settings = resolveSettings(options);
  const formatPlan = readResponseFormat(settings.responseFormat);
  const ofFormat = formatPlan === undefined ? [] : formatTools(formatPlan);
  const { tools, additionalTools, providerTools } = checkTools(
    settings.tools,
    settings.additionalTools,
    ofFormat,
  );
  const offered = [...tools, ...additionalTools, ...providerTools];
  const offeredNames = offered.map(toolName).filter((name) => name !== "");
  const requirableNames = [...offeredNames, ...ofFormat.map(toolName)];
  const toolChoice = readToolChoice(settings.toolChoice, requirableNames);
  const middleware = sortMiddleware(settings.middleware);
  const { createModel } = settings;
  const { model, models: others, fallbackModels: fallbacks } = settings;
  const models = prepareModels("model", { model, others, fallbacks }, createModel);
  checkProviderTools(providerTools, [model, ...others, ...fallbacks]);
  const resolveModel: typeof models.resolveModel = async (name, position) =>
    withProviderTools(await models.resolveModel(name, position), providerTools);
  const ownState = readStateSchema(settings.stateSchema);
  if (formatPlan !== undefined && ownState.keys.includes("structuredResponse"))
    throw InvalidSettingError.expected(
      "stateSchema",
      "without `structuredResponse`, which is the key of `responseFormat`",
      settings.stateSchema,
    );
  const ownContext = readContextSchema(settings.contextSchema);
  checkAllowedSettings(settings.allowedSettings);
  const summaryModel =
    settings.summaryModel === undefined
      ? undefined
      : prepareModels("summaryModel", { model: settings.summaryModel }, createModel);
  const callPolicy = createCallPolicy({
    autoInvoke: settings.autoInvoke,
    toolNames: tools.map(toolName),
    additionalNames: additionalTools.map(toolName),
    requireApproval: settings.requireApproval,
  });
  const compiled = buildStateGraph({
    ...settings,
    ownState,
    ownContext,
    tools,
    offered,
    formatPlan,
    callPolicy,
    toolChoice,
    returnDirect: new Set(tools.filter(returnsDirectly).map(toolName)),
    limits: settings,
    resolveModel,
    nameOfModel: models.nameOfModel,
    fallbackCount: fallbacks.length,
    takeMessages: createTakeMessages({
      steering: settings.steering,
      readSteered: createSteeredReader(settings),
    }),
    resolveSummaryModel:
      summaryModel === undefined ? resolveModel : () => summaryModel.resolveModel(undefined),
    summaryPolicy: createSummaryPolicy(settings, [...offered, ...ofFormat], resolveModel),
    summaryWording: summaryWording(settings.summaryLanguage, {
      heading: settings.summaryHeading,
      instructions: settings.summaryPrompt,
    }),
  }).compile({
    ...(settings.checkpointer !== undefined && { checkpointer: settings.checkpointer }),
    ...(settings.store && { store: settings.store }),
    name: settings.name ?? "agent",
  });
  const { asksHumans } = callPolicy;
  return AgentGraph.from(compiled, {
    middleware,
    ownState,
    ownContext,
    concurrentRuns: settings.concurrentRuns,
    acceptSystemMessages: settings.acceptSystemMessages,
    maxMessageLength: settings.maxMessageLength,
    steering: settings.steering,
    runsTool: (name) => settings.autoInvoke && tools.some((tool) => toolName(tool) === name),
    hasFormat: formatPlan !== undefined,
    usesArchive: settings.coveredMessages === "archive",
    asksHumans,
    hasStrictResume: asksHumans,
    recursionLimit: recursionLimitFor(settings.maxIterations),
    readContext: (context, isSubgraph) => {
      const chosen = readRunContext(context, {
        limits: settings,
        allowed: settings.allowedSettings,
        ownKeys: ownContext.keys,
        ignoresUnknown: isSubgraph,
      });
      models.checkModel(chosen.model);
      if (chosen.toolChoice !== undefined) readToolChoice(chosen.toolChoice, requirableNames);
      return chosen;
    },
  });
}

interface Models {
  /**
   * Contract: resolves to the model that a run names, or to the default model. A position above 0 is that of a fallback
   * model. Rejects with a clear error.
   */
  readonly resolveModel: (name: string | undefined, position?: number) => Promise<BaseChatModel>;
  /** The name that the options or the run give to a model. Undefined for a model that is given as an object. */
  readonly nameOfModel: (name: string | undefined, position: number) => string | undefined;
  /** @throws InvalidSettingError for a name that a run cannot choose. */
  readonly checkModel: (name: string | undefined) => void;
}

interface GivenModels {
  readonly model: GivenModel;
  /** The names of the other models that a run can choose. */
  readonly others?: readonly string[];
  readonly fallbacks?: readonly unknown[];
}

/**
 * Prepares the models of a graph. A model that is given by name is made when it is first used. A missing key is
 * reported at once.
 *
 * @param setting The name of the option that `model` comes from.
 * @throws InvalidModelError for a name that cannot be resolved, or if its key is missing.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
function prepareModels(
  setting: "model" | "summaryModel",
  { model, others = [], fallbacks = [] }: GivenModels,
  make: CreateModel,
): Models {
  const names = [...(typeof model === "string" ? [model] : []), ...others];
  for (const name of names) parseModelName(name);
  assertGivenModel(setting, model, make);
  const later = fallbacks.map((fallback, index): GivenModel => {
    assertGivenModel(`fallbackModels[${index}]`, fallback, make);
    return fallback;
  });
  const givenAt = (name: string | undefined, position: number): GivenModel =>
    (position === 0 ? name : later[position - 1]) ?? model;
  return {
    resolveModel: async (name, position = 0) => {
      const given = givenAt(name, position);
      return typeof given === "string" ? assertMade(await make(given)) : given;
    },
    nameOfModel: (name, position) => {
      const given = givenAt(name, position);
      return typeof given === "string" ? given : undefined;
    },
    checkModel: (name) => {
      if (name === undefined || names.includes(name)) return;
      const allowed = names.length > 0 ? `one of ${names.join(", ")}` : "undefined, as `models` names none";
      throw InvalidSettingError.expected("model", allowed, name);
    },
  };
}

/** @throws InvalidSettingError if the user's `createModel` made something else. */
function assertMade(model: BaseChatModel): BaseChatModel {
  if (isRecord(model) && typeof model["invoke"] === "function") return model;
  throw InvalidSettingError.expected("createModel", "a function that resolves to a chat model", model);
}
