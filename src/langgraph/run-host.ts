/** Reads from `configurable` whether a parent graph or a server runs this graph, and what it provides. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { isRecord } from "../shared/is-record.js";
import { isServerProcess } from "./server-fetch.js";

/** LangGraph's own keys begin with this. A client can send any of them with a JSON value. Not exported. */
const INTERNAL = "__pregel_";

/** LangGraph's reader of channels, a function. Only tasks have it, so a run that has it is a subgraph. Not exported. */
const READ = "__pregel_read";
/** The checkpointer that a task gets from its run or from a parent graph. Not exported. */
const CHECKPOINTER = "__pregel_checkpointer";
/** The id of the assistant, which LangGraph's server sets in every run. Documented for clients only. */
const ASSISTANT = "assistant_id";

/** Whether the graph runs as a node of another one, or inside a tool. */
export function isSubgraphRun({ configurable }: RunnableConfig): boolean {
  return typeof configurable?.[READ] === "function";
}

/**
 * The options of a run without LangGraph's own keys, unless the run is a subgraph. LangGraph would take what a client
 * sends for its own: it would write to another namespace, or call what is no function.
 */
export function withoutForgedKeys<Options extends Pick<RunnableConfig, "configurable">>(
  options: Options,
): Options {
  const { configurable = {} } = options;
  const keys = Object.keys(configurable);
  const own = keys.filter((key) => !key.startsWith(INTERNAL));
  if (own.length === keys.length || isSubgraphRun(options)) return options;
  return { ...options, configurable: Object.fromEntries(own.map((key) => [key, configurable[key]])) };
}

/**
 * The options of a run that name its checkpoint by `checkpoint_id` alone. In a run that is no subgraph, LangGraph ignores
 * `checkpoint_ns` and can take the checkpoint from `checkpoint_map`. `getState` does neither, so what is read for the run
 * could be another state than the one that it changes.
 */
export function withPlainCheckpoint<Options extends RunnableConfig>(options: Options): Options {
  const { checkpoint_ns: namespace, checkpoint_map: map, checkpoint_id: given } = { ...options.configurable };
  if ((namespace === undefined && map === undefined) || isSubgraphRun(options)) return options;
  const isOfRoot = namespace === undefined || namespace === "";
  const mapped = isRecord(map) ? map[isOfRoot ? String(namespace) : ""] : undefined;
  const checkpoint_id = isOfRoot && given !== undefined ? given : mapped;
  return { ...options, configurable: { ...options.configurable, checkpoint_ns: "", checkpoint_id } };
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

/** Whether LangGraph's server started the run. A client of a program can send an assistant too. */
export function isServedRun({ configurable }: RunnableConfig): boolean {
  return configurable?.[ASSISTANT] !== undefined && isServerProcess();
}

/** The values of these channels; undefined for a node that runs outside a graph. */
export function readChannels({ configurable }: RunnableConfig, names: readonly string[]): unknown {
  const read: unknown = configurable?.[READ];
  return typeof read === "function" ? read(names) : undefined;
}
