/** The ways in which a message of a client reaches a thread of a graph with the offline model. */

import { Command, MemorySaver } from "@langchain/langgraph";
import { type AgentGraph, type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { createProbe } from "./probe-tools.js";
import { inThread } from "./thread.js";

export const config = inThread("1");

export function offlineGraph(options: Partial<AgentGraphOptions> = {}): AgentGraph {
  const { fast } = createProbe();
  return createAgentGraph({ model: "offline:", tools: [fast], checkpointer: new MemorySaver(), ...options });
}

type Send = (graph: AgentGraph, message: unknown) => Promise<unknown>;

const WAYS = {
  invoke: (graph, message) => graph.invoke({ messages: [message] } as never, config),
  "stream with updates": async (graph, message) => {
    for await (const _ of await graph.stream({ messages: [message] } as never, config));
  },
  streamEvents: async (graph, message) => {
    const events = graph.streamEvents({ messages: [message] } as never, { ...config, version: "v2" });
    for await (const _ of events);
  },
  batch: (graph, message) => graph.batch([{ messages: [message] }] as never, config),
  "the update of a Command": (graph, message) =>
    graph.invoke(new Command({ update: { messages: [message] }, goto: "model" }) as never, config),
  updateState: (graph, message) => graph.updateState(config, { messages: [message] }),
  "updateState with a Command": (graph, message) =>
    graph.updateState(config, new Command({ update: { messages: [message] } })),
} as const satisfies Record<string, Send>;

export const ways = Object.entries<Send>(WAYS);
