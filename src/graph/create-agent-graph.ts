import { InvalidSettingError } from "../errors.js";
import { type Middleware, sortMiddleware } from "../middleware/middleware.js";
import { createCallPolicy } from "../nodes/approval/call-policy.js";
import { formatTools } from "../nodes/format/format-request.js";
import { createTakeMessages } from "../nodes/inbox/take-messages.js";
import { recursionLimitFor } from "../nodes/run/superstep-budget.js";
import { createSummaryPolicy } from "../nodes/summary/summarize.js";
import { summaryWording } from "../nodes/summary/summary-prompts.js";
import { checkProviderTools, withProviderTools } from "../providers/models/provider-tools.js";
import { checkTools, returnsDirectly, toolName } from "../settings/check-tools.js";
import { readResponseFormat } from "../settings/format/read-response-format.js";
import type { ResponseFormat } from "../settings/format/response-format.js";
import { resolveSettings } from "../settings/resolve-settings.js";
import { checkAllowedSettings, readRunContext } from "../settings/run-context.js";
import { readContextSchema } from "../settings/schemas/own-context.js";
import { readStateSchema } from "../settings/schemas/own-state.js";
import type {
  ContextOf,
  OwnContextSchema,
  OwnStateSchema,
  StateOf,
  StateUpdateOf,
} from "../settings/schemas/schema-types.js";
import type { SettingsOptions } from "../settings/settings.js";
import { readToolChoice } from "../settings/tool-choice.js";
import { AgentGraph } from "./agent-graph.js";
import { buildStateGraph } from "./build-state-graph.js";
import { createSteeredReader } from "./client/steer.js";
import { prepareModels } from "./prepare-models.js";
import type { StructuredValues } from "./run-types.js";

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
 * const { messages } = await agent.invoke({ messages: "What is the weather in Paris?" });
 * console.log(messages.map((message) => message.type)); // [ 'human', 'ai', 'tool', 'ai' ]
 * console.log(messages.at(-1)?.text); // Paris: 18 °C
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
