/** What a task can read of its thread's checkpoints, through the saver of its run. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { inheritedCheckpointer } from "../run-host.js";
import { readDelta } from "./read-delta.js";
import { readBefore, type WatchedCheckpoints } from "./watch-checkpointer.js";

/** Between the namespaces of a graph and of a subgraph. Not exported. */
const SUBGRAPH = "|";

/** The nodes of LangChain's agents before the model is asked. A run that waits for one has run no tool. */
const BEFORE_MODEL = /^branch:to:(?:.*\.before_(?:agent|model)|model_request)$/;

/**
 * The latest checkpoint of the task's thread that has been saved, as the one that the run began on. It can also be one of
 * the run itself: LangGraph saves in the background. Undefined without a saver, and for a subgraph, whose checkpoints
 * are those of one call.
 */
export async function savedCheckpoints(config: RunnableConfig): Promise<WatchedCheckpoints | undefined> {
  const { thread_id, checkpoint_ns } = { ...config.configurable };
  const saver = inheritedCheckpointer(config);
  if (!isSaver(saver) || thread_id === undefined || String(checkpoint_ns ?? "").includes(SUBGRAPH))
    return undefined;
  const latest = { configurable: { thread_id, checkpoint_ns: "" } };
  return {
    abandoned: await saver.getTuple(latest),
    isFork: false,
    saved: undefined,
    read: (place) => saver.getTuple(place),
    readBefore: (config) => readBefore(saver, config),
    readDelta: (config) => readDelta(saver, config),
  };
}

/** Whether the run of a checkpoint had not asked the model yet. */
export function isBeforeModel({ checkpoint }: CheckpointTuple): boolean {
  return Object.keys(checkpoint.channel_values).some((name) => BEFORE_MODEL.test(name));
}

function isSaver(value: unknown): value is BaseCheckpointSaver {
  return typeof value === "object" && value !== null && "getTuple" in value;
}
