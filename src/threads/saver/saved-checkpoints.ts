/** What a task can read of its thread's checkpoints, through its run's saver. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { type CheckpointTuple, getConfig } from "@langchain/langgraph";
import { defined, textIn } from "../../shared/values.js";
import { diaryWritten } from "../diary.js";
import { nodesToEnter } from "../langgraph/read-checkpoints.js";
import { isSaver } from "../langgraph/replace-methods.js";
import { inheritedCheckpointer, namespaceOfGraph } from "../langgraph/run-host.js";
import { checkpointsOf, type WatchedCheckpoints } from "./watched-checkpoints.js";

/** The nodes before the model in LangChain's agents. A run that waits for one of them has run no tool. */
const BEFORE_MODEL = /^(?:.*\.before_(?:agent|model)|model_request)$/;

/**
 * A saved checkpoint of the task's graph as the one that the run began on: the latest, if none is named. LangGraph
 * saves in the background, so it can also be the run's own. Undefined without a saver, and for a subgraph without its
 * own memory: a task id in its namespace says that its checkpoints belong to one call.
 */
export async function savedCheckpoints(
  config: RunnableConfig,
  checkpoint_id?: string,
): Promise<WatchedCheckpoints | undefined> {
  const { thread_id } = { ...config.configurable };
  const saver = inheritedCheckpointer(config);
  const checkpoint_ns = namespaceOfGraph(config);
  if (!isSaver(saver) || thread_id === undefined || checkpoint_ns.includes(":")) return undefined;
  await diaryWritten(thread_id, config.signal);
  const place = defined({ thread_id, checkpoint_ns, checkpoint_id });
  return checkpointsOf(saver, await saver.getTuple({ configurable: place }));
}

/**
 * The same for the checkpoint that the run began on: the one that its caller named, or else the latest. LangGraph
 * copies the name to all tasks' metadata.
 */
export async function startingCheckpoints(config: RunnableConfig): Promise<WatchedCheckpoints | undefined> {
  const named = textIn(getConfig()?.metadata, "checkpoint_id");
  const own = named === undefined ? undefined : await savedCheckpoints(config, named);
  return own?.abandoned === undefined ? savedCheckpoints(config) : own;
}

/** Whether a checkpoint's run had not yet asked the model. */
export function isBeforeModel(tuple: CheckpointTuple): boolean {
  return nodesToEnter(tuple).some((name) => BEFORE_MODEL.test(name));
}
