import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";

/** What a run can know of its thread beside the state. */
export interface WatchedCheckpoints {
  /** The checkpoint that the run began on, with what its unfinished tasks had written. */
  abandoned: CheckpointTuple | undefined;
  /** Reads a checkpoint of the run's thread; undefined for a run without a checkpointer. */
  readonly read: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
}

export interface WatchedCheckpointer {
  /** To be called before each run: what the one before has left is not what an earlier run had. */
  readonly restart: () => void;
  readonly checkpoints: WatchedCheckpoints;
  /** To be used in the place of the given one. */
  readonly checkpointer: BaseCheckpointSaver | undefined;
}

/** Remembers the first checkpoint that a run reads: the one that an earlier run may have left unfinished. */
export function watchCheckpointer(saver: unknown): WatchedCheckpointer {
  if (!isSaver(saver)) {
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
  const checkpointer = new Proxy(saver, {
    get(target, name) {
      if (name === "getTuple") return getTuple;
      const value: unknown = Reflect.get(target, name, target);
      // Bound, so that savers may have private fields.
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { checkpoints, checkpointer, restart };
}

function isSaver(value: unknown): value is BaseCheckpointSaver {
  return typeof value === "object" && value !== null && "getTuple" in value;
}
