/** A thread of the user's own graph, in the same process. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { InvalidSettingError } from "../../errors.js";
import { isSaver } from "../../langgraph/replace-methods.js";
import { compiledGraphOf, type ForeignGraph } from "../../langgraph/state/swap-channel.js";

/** A thread and the graph that it belongs to. */
export interface GraphThread {
  /**
   * The graph that runs the thread: a compiled `StateGraph`, or an agent of `createAgent`, `createReactAgent`,
   * `createDeepAgent` or `createAgentGraph`. It must be the thread's own graph: another one would drop the channels that
   * it does not know.
   */
  readonly graph: object;
  /** The config of the thread, with `configurable.thread_id`. */
  readonly config: RunnableConfig;
  /** The checkpointer of the thread. @default the one that the graph was compiled with */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
}

export interface OpenedGraph {
  readonly graph: ForeignGraph;
  readonly saver: BaseCheckpointSaver;
}

/** @throws InvalidSettingError if the graph or its checkpointer cannot be used. */
export function openGraph(given: unknown, checkpointer?: unknown): OpenedGraph {
  const graph = compiledGraphOf(given);
  if (graph === undefined)
    throw InvalidSettingError.expected(
      "graph",
      "a compiled graph, or an agent that has one as its `graph`",
      given,
      " Call `compile()` first. If the module exports a function, pass what it returns.",
    );
  const saver = checkpointer ?? graph.checkpointer;
  if (!isSaver(saver))
    throw InvalidSettingError.expected(
      "checkpointer",
      "a checkpointer, of the graph or beside it",
      saver,
      " Compile the graph with its checkpointer, or pass `checkpointer`.",
    );
  return { graph, saver };
}

export function isGraphThread(value: object): value is GraphThread {
  return "graph" in value && "config" in value;
}

/** @throws InvalidSettingError if the config names no thread. */
export function threadIdOf({ configurable }: RunnableConfig): string {
  const id: unknown = configurable?.["thread_id"];
  if (typeof id === "string" && id !== "") return id;
  throw InvalidSettingError.expected("config.configurable.thread_id", "the id of a thread", id);
}
