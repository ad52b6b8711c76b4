/** Events that every run of a graph emits at its start. */

import type { AgentEvent } from "../nodes/run/agent-event.js";
import type { AgentGraph } from "./agent-graph.js";

/** Copies of a graph share its builder. */
const startEvents = new WeakMap<object, readonly AgentEvent[]>();

/** Returns the same graph. */
export function withStartEvents(graph: AgentGraph, events: readonly AgentEvent[]): AgentGraph {
  if (events.length > 0) startEvents.set(graph.builder, events);
  return graph;
}

export function startEventsOf({ builder }: { readonly builder: object }): readonly AgentEvent[] {
  return startEvents.get(builder) ?? [];
}
