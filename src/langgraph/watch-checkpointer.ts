import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { replaceMethods } from "./replace-methods.js";

/** What a run can know about its thread besides the state. */
export interface WatchedCheckpoints {
  /** The checkpoint that the run began on, with the writes of tasks of an unfinished run. */
  abandoned: CheckpointTuple | undefined;
  /** Reads a checkpoint of the run's thread. Undefined for a run without a checkpointer. */
  readonly read: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
}

export interface WatchedCheckpointer {
  /** Call it before each run. The next checkpoint that is read becomes `abandoned`. */
  readonly restart: () => void;
  readonly checkpoints: WatchedCheckpoints;
  /** Use it in place of the original checkpointer. Undefined if there is none. */
  readonly checkpointer: BaseCheckpointSaver | undefined;
}

/** Remembers the first checkpoint that a run reads. An earlier run may have left it unfinished. */
export function watchCheckpointer(saver: BaseCheckpointSaver | undefined): WatchedCheckpointer {
  if (saver === undefined) {
    const checkpoints = { abandoned: undefined, read: undefined };
    return { checkpoints, checkpointer: undefined, restart: () => {} };
  }
  const checkpoints: WatchedCheckpoints = {
    abandoned: undefined,
    read: (config) => saver.getTuple(config),
  };
  let isFirst = true;
  const restart = (): void => {
    isFirst = true;
  };
  const getTuple = async (
    config: Parameters<BaseCheckpointSaver["getTuple"]>[0],
  ): Promise<CheckpointTuple | undefined> => {
    const remembers = isFirst;
    isFirst = false;
    const tuple = await saver.getTuple(config);
    if (remembers) checkpoints.abandoned = tuple;
    return tuple;
  };
  return { checkpoints, checkpointer: replaceMethods(saver, { getTuple }), restart };
}
