/** `createAgentGraph`: plans the agent from its options, draws its graph, and compiles it. */

import { defined } from "../../shared/values.js";
import type {
  ContextOf,
  OwnContextSchema,
  OwnStateSchema,
  StateOf,
  StateUpdateOf,
} from "../../threads/own-state.js";
import type { Middleware } from "../middleware/middleware.js";
import { planAgent } from "../plan.js";
import type { ResponseFormat } from "../settings/response-format.js";
import type { SettingsOptions } from "../settings/settings.js";
import { AgentGraph } from "./agent-graph.js";
import { buildStateGraph } from "./graph.js";
import type { StructuredValues } from "./types.js";

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
 * history every tool call is followed by its result, and no finished tool's result is lost.
 *
 * @param options The model, the tools and the other settings. docs/settings.md lists them with their defaults.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not accept.
 * @throws InvalidToolError for a tool that a provider would refuse, or if two tools have the same name.
 * @throws InvalidModelError for a model name that cannot be resolved, or a missing key.
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
  const plan = planAgent(options);
  const { checkpointer, store, name = "agent" } = plan.settings;
  const compiled = buildStateGraph(plan).compile({ ...defined({ checkpointer, store }), name });
  return AgentGraph.from(compiled, plan);
}
