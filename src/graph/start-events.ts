/** Events that the runs of a graph emit at their start. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { isSavedRun, isSubgraphRun } from "../langgraph/run-host.js";
import { nodeOf } from "../langgraph/step-of.js";
import type { AgentEvent } from "../nodes/run/agent-event.js";
import type { AgentGraph } from "./agent-graph.js";

/** Copies of a graph share its builder. */
const startEvents = new WeakMap<object, readonly AgentEvent[]>();

/** Returns the same graph. */
export function withStartEvents(graph: AgentGraph, events: readonly AgentEvent[]): AgentGraph {
  if (events.length > 0) startEvents.set(graph.builder, events);
  return graph;
}

interface StartedGraph {
  readonly builder: object;
  readonly checkpointer?: unknown;
}

/** Graphs of which one run has said that it has no memory. */
const told = new WeakSet<object>();

export function startEventsOf(
  { builder, checkpointer }: StartedGraph,
  options: RunnableConfig,
): readonly AgentEvent[] {
  const events = startEvents.get(builder) ?? [];
  if (checkpointer !== undefined || !isSavedNode(options) || told.has(builder)) return events;
  told.add(builder);
  return [...events, { type: "memory-missing", remedy: "checkpointer: true" }];
}

/** Whether a parent graph that saves its runs has this one as a node. A tool that runs an agent begins anew each time. */
function isSavedNode(options: RunnableConfig): boolean {
  return isSubgraphRun(options) && isSavedRun(options) && nodeOf(options) !== "tools";
}
