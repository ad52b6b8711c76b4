/** Graphs for long threads: one tool whose results are as long as the call says, and a model that is a function. */

import { AIMessage } from "@langchain/core/messages";
import { z } from "zod";
import {
  type AgentEvent,
  type AgentGraph,
  type AgentGraphOptions,
  createAgentGraph,
} from "../../src/index.js";
import { allOf } from "./async.js";
import { textOf } from "./long-histories.js";
import { type Answer, FunctionModel, shortSummariser } from "./models.js";
import { withoutPlace } from "./open-thread.js";
import { makeTool } from "./tools.js";

/** Returns a text of this many tokens. */
export const look = makeTool(
  "look",
  async ({ at, tokens }) => textOf(tokens, `found-${at}`),
  z.object({ at: z.string(), tokens: z.number() }),
);

export function lookUp(at: string, tokens: number, ...ids: string[]): AIMessage {
  const tool_calls = ids.map((id, index) => ({ id, name: "look", args: { at: `${at}.${index}`, tokens } }));
  return new AIMessage({ content: "", tool_calls });
}

interface Made {
  readonly graph: AgentGraph;
  readonly model: FunctionModel;
  readonly summariser: FunctionModel;
}

export function createLookGraph(
  answer: Answer,
  options: Partial<AgentGraphOptions> & { readonly summaryModel?: FunctionModel } = {},
): Made {
  const model = new FunctionModel(answer);
  const summariser = options.summaryModel ?? shortSummariser();
  const graph = createAgentGraph({ model, tools: [look], summaryModel: summariser, ...options });
  return { graph, model, summariser };
}

/** The custom events of one run, without its `run-end` and without their places. */
export async function eventsOf(graph: AgentGraph, input: object, config: object): Promise<AgentEvent[]> {
  const events = await allOf<AgentEvent>(graph.stream(input as never, { ...config, streamMode: "custom" }));
  return events.filter(({ type }) => type !== "run-end").map(withoutPlace);
}
