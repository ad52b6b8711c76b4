/** Reads from `configurable` whether a parent graph or a server runs this graph, and what it provides. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";

/** LangGraph's reader of channels. Only tasks have it, so a run that has it is a subgraph. Not exported. */
const READ = "__pregel_read";
/** The checkpointer that a task gets from its run or from a parent graph. Not exported. */
const CHECKPOINTER = "__pregel_checkpointer";
/** The id of the assistant, which LangGraph's server sets in every run. Documented for clients only. */
const ASSISTANT = "assistant_id";

/** Whether the graph runs as a node of another one, or inside a tool. */
export function isSubgraphRun({ configurable }: RunnableConfig): boolean {
  return configurable?.[READ] !== undefined;
}

/** Whether a waiting run is saved, by its own checkpointer or that of a parent graph. */
export function isSavedRun({ configurable }: RunnableConfig): boolean {
  return configurable?.[CHECKPOINTER] !== undefined;
}

/** The checkpointer that a parent graph passes to its subgraph; undefined if there is none. */
export function inheritedCheckpointer({ configurable }: RunnableConfig): unknown {
  return configurable?.[CHECKPOINTER];
}

/** The options of a subgraph's run with another checkpointer in place of the inherited one. */
export function withInheritedCheckpointer<Options extends RunnableConfig>(
  options: Options,
  checkpointer: BaseCheckpointSaver,
): Options {
  return { ...options, configurable: { ...options.configurable, [CHECKPOINTER]: checkpointer } };
}

/** Whether LangGraph's server started the run. */
export function isServedRun({ configurable }: RunnableConfig): boolean {
  return configurable?.[ASSISTANT] !== undefined;
}

/** The values of these channels; undefined for a node that runs outside a graph. */
export function readChannels({ configurable }: RunnableConfig, names: readonly string[]): unknown {
  const read: unknown = configurable?.[READ];
  return typeof read === "function" ? read(names) : undefined;
}
