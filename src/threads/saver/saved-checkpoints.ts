/** What a task can read of its thread's checkpoints, through its run's saver. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { type CheckpointTuple, getConfig } from "@langchain/langgraph";
import { defined, textIn } from "../../shared/values.js";
import { diaryWritten } from "../diary.js";
import { nodesToEnter } from "../langgraph/read-checkpoints.js";
import { isSaver } from "../langgraph/replace-methods.js";
import { inheritedCheckpointer, ownThreadOf, parentOf } from "../langgraph/run-host.js";
import { soundSaver } from "../langgraph/sound-saver.js";
import { checkpointsOf, type WatchedCheckpoints } from "./watched-checkpoints.js";

/** The nodes before the model in LangChain's agents. A run that waits for one of them has run no tool. */
const BEFORE_MODEL = /^(?:.*\.before_(?:agent|model)|model_request)$/;

/**
 * Presents a saved checkpoint of the task's graph as the one that the run began on. Without an id, it is the latest.
 * LangGraph saves in the background, so it can also be the run's own. Undefined if the graph saves no checkpoints of its
 * own.
 */
export async function savedCheckpoints(
  config: RunnableConfig,
  checkpoint_id?: string,
): Promise<WatchedCheckpoints | undefined> {
  const own = ownThreadOf(config);
  if (own === undefined) return undefined;
  await diaryWritten(own.place.thread_id, config.signal);
  const configurable = defined({ ...own.place, checkpoint_id });
  return checkpointsOf(own.saver, await own.saver.getTuple({ configurable }));
}

/**
 * The same for the checkpoint that the run began on: the one that its caller named, or else the latest. LangGraph
 * copies the name to all tasks' metadata.
 */
export async function startingCheckpoints(config: RunnableConfig): Promise<WatchedCheckpoints | undefined> {
  const named = textIn(getConfig()?.metadata, "checkpoint_id");
  const own = named === undefined ? undefined : await savedCheckpoints(config, named);
  return own?.begunOn === undefined ? savedCheckpoints(config) : own;
}

/**
 * The checkpoints of the graph around the task's graph that has a memory, and those of other namespaces of the same
 * thread. Undefined for the outermost graph, and for one with its own memory.
 */
export async function parentCheckpoints(config: RunnableConfig) {
  const parent = parentOf(config);
  const given = inheritedCheckpointer(config);
  const { thread_id } = { ...config.configurable };
  if (parent === undefined || !isSaver(given) || thread_id === undefined) return undefined;
  const saver = soundSaver(given);
  const read = async (checkpoint_ns: string) =>
    checkpointsOf(saver, await saver.getTuple({ configurable: { thread_id, checkpoint_ns } }));
  return { parent, parents: await read(parent.checkpoint_ns), read };
}

/** Whether a checkpoint's run had not yet asked the model. */
export function isBeforeModel(tuple: CheckpointTuple): boolean {
  return enterBeforeModel(nodesToEnter(tuple));
}

/** The same for the nodes that the run was about to enter. */
export function enterBeforeModel(nodes: readonly string[]): boolean {
  return nodes.some((name) => BEFORE_MODEL.test(name));
}
