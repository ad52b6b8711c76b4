import { type Middleware, sortMiddleware } from "../middleware/middleware.js";
import { createCallPolicy } from "../nodes/approval/call-policy.js";
import { recursionLimitFor } from "../nodes/run/superstep-budget.js";
import { summaryWording } from "../nodes/summary/summary-prompts.js";
import { checkTools, returnsDirectly, toolName } from "../settings/check-tools.js";
import { resolveSettings } from "../settings/resolve-settings.js";
import { readRunContext } from "../settings/run-context.js";
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
import { createSummaryPolicy } from "../settings/summary-policy.js";
import { readToolChoice } from "../settings/tool-choice.js";
import { AgentGraph } from "./agent-graph.js";
import { buildStateGraph } from "./build-state-graph.js";
import { prepareModels } from "./prepare-models.js";

/** The options of `createAgentGraph`. Only `model` is required. `undefined` counts as left out. */
export interface AgentGraphOptions<
  State extends OwnStateSchema | undefined = OwnStateSchema | undefined,
  Context extends OwnContextSchema | undefined = OwnContextSchema | undefined,
> extends SettingsOptions {
  readonly middleware?: readonly Middleware[] | undefined;
  readonly stateSchema?: State;
  readonly contextSchema?: Context;
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
>(
  options: AgentGraphOptions<State, Context>,
): AgentGraph<StateOf<State>, StateUpdateOf<State>, ContextOf<Context>> {
  const settings = resolveSettings(options);
  const { tools, additionalTools } = checkTools(settings.tools, settings.additionalTools);
  const offered = [...tools, ...additionalTools];
  const offeredNames = offered.map(toolName);
  const toolChoice = readToolChoice(settings.toolChoice, offeredNames);
  const middleware = sortMiddleware(settings.middleware);
  const { createModel, requireApproval } = settings;
  const ownState = readStateSchema(settings.stateSchema);
  const ownContext = readContextSchema(settings.contextSchema);
  const { resolveModel, checkModel } = prepareModels("model", settings.model, settings.models, createModel);
  const summaryModel =
    settings.summaryModel === undefined
      ? undefined
      : prepareModels("summaryModel", settings.summaryModel, [], createModel);
  const compiled = buildStateGraph({
    ...settings,
    ownState,
    ownContext,
    tools,
    offered,
    callPolicy: createCallPolicy({
      autoInvoke: settings.autoInvoke,
      toolNames: tools.map(toolName),
      additionalNames: additionalTools.map(toolName),
      requireApproval,
    }),
    toolChoice,
    returnDirect: new Set(tools.filter(returnsDirectly).map(toolName)),
    limits: settings,
    resolveModel,
    resolveSummaryModel:
      summaryModel === undefined ? resolveModel : () => summaryModel.resolveModel(undefined),
    summaryPolicy: createSummaryPolicy(settings, offered, resolveModel),
    summaryWording: summaryWording(settings.summaryLanguage, {
      heading: settings.summaryHeading,
      instructions: settings.summaryPrompt,
    }),
  }).compile({
    ...(settings.checkpointer !== undefined && { checkpointer: settings.checkpointer }),
    ...(settings.store && { store: settings.store }),
    name: settings.name ?? "agent",
  });
  const asksHumans = typeof requireApproval === "function" || requireApproval.length > 0;
  return AgentGraph.from(compiled, {
    middleware,
    ownState,
    ownContext,
    concurrentRuns: settings.concurrentRuns,
    acceptSystemMessages: settings.acceptSystemMessages,
    runsTool: (name) => settings.autoInvoke && tools.some((tool) => toolName(tool) === name),
    usesArchive: settings.coveredMessages === "archive",
    asksHumans,
    hasStrictResume: asksHumans,
    recursionLimit: recursionLimitFor(settings.maxIterations),
    readContext: (context, isSubgraph) => {
      const chosen = readRunContext(context, {
        limits: settings,
        ownKeys: ownContext.keys,
        ignoresUnknown: isSubgraph,
      });
      checkModel(chosen.model);
      if (chosen.toolChoice !== undefined) readToolChoice(chosen.toolChoice, offeredNames);
      return chosen;
    },
  });
}
