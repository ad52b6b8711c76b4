/** Who runs the graph, and what it brings: LangGraph and its server tell it in `configurable`. */

import type { RunnableConfig } from "@langchain/core/runnables";

/** LangGraph's reader of channels: there only inside a task, so a run that has it is a subgraph's. Not exported. */
const READ = "__pregel_read";
/** The saver that a task inherits from its run, also from a parent graph's. Not exported. */
const CHECKPOINTER = "__pregel_checkpointer";
/** LangGraph's server names its assistant in every run. Documented for clients only. */
const ASSISTANT = "assistant_id";

/** Whether the graph runs as a node of another one, or inside a tool. */
export function isSubgraphRun({ configurable }: RunnableConfig): boolean {
  return configurable?.[READ] !== undefined;
}

/** Whether a task's run is saved while it waits, by its own checkpointer or that of a parent graph. */
export function isSavedRun({ configurable }: RunnableConfig): boolean {
  return configurable?.[CHECKPOINTER] !== undefined;
}

export function isServedRun({ configurable }: RunnableConfig): boolean {
  return configurable?.[ASSISTANT] !== undefined;
}

/** What a task reads from the channels of its graph; undefined for a node that is run alone. */
export function readChannels({ configurable }: RunnableConfig, names: readonly string[]): unknown {
  const read: unknown = configurable?.[READ];
  return typeof read === "function" ? read(names) : undefined;
}
