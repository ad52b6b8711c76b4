/** What a run knows of its thread's checkpoints. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import type { Entry } from "../diary.js";
import { readDelta } from "../langgraph/read-checkpoints.js";
import { latestOf } from "../langgraph/run-host.js";

/** What a run can know about its thread besides the state. */
export interface WatchedCheckpoints {
  /** The checkpoint that the run began on, with the task writes of an unfinished run. */
  begunOn: CheckpointTuple | undefined;
  /** Whether the thread had gone on after `begunOn`, so that the run began another branch. */
  isFork: boolean;
  /** The values in the latest checkpoint that this run saved. */
  saved: Readonly<Record<string, unknown>> | undefined;
  /** Reads a checkpoint of the run's thread. Undefined for a run without a checkpointer. */
  readonly read: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
  /** The checkpoint that was saved just before this one, in any branch of the thread. */
  readonly readBefore: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
  /** The superstep of the run's latest saved checkpoint, or of the one that it began on. */
  savedStep: number | undefined;
  /** Whether the run saves each checkpoint at once, instead of only the last one at its end. */
  savesAtOnce: boolean;
  /**
   * Resolves once the checkpoint before this superstep is saved, to a function that writes into its diary. Undefined if
   * the run has no such checkpoint before it ends.
   *
   * @throws Why the checkpoint is not saved.
   */
  whenSent: (step: number) => Promise<WriteIntoDiary | undefined>;
  /** Reads the history of a checkpoint that does not hold it, because its `messages` were a delta channel. */
  readonly readDelta?: (config: RunnableConfig) => Promise<unknown>;
}

/** Contract: resolves once the entry is saved. `count` is that of `writeEntry`. */
export type WriteIntoDiary = (entry: Entry, count: number) => Promise<void>;

export function checkpointsOf(
  saver: BaseCheckpointSaver | undefined,
  begunOn?: CheckpointTuple,
): WatchedCheckpoints {
  return {
    begunOn,
    isFork: false,
    saved: undefined,
    savedStep: undefined,
    savesAtOnce: false,
    whenSent: async () => undefined,
    read: saver && ((config) => saver.getTuple(config)),
    readBefore: saver && ((config) => readBefore(saver, config)),
    readDelta: async (config) => saver && readDelta(saver, config),
  };
}

/** The checkpoint that was saved just before this one, in any branch of the thread. */
async function readBefore(
  saver: Pick<BaseCheckpointSaver, "list">,
  before: RunnableConfig,
): Promise<CheckpointTuple | undefined> {
  for await (const tuple of saver.list(latestOf(before), { before, limit: 1 })) return tuple;
  return undefined;
}

/** Whether the thread has gone on from a checkpoint that was read with this config. */
export async function isPassed(
  { checkpoint }: CheckpointTuple,
  config: RunnableConfig,
  read: (config: RunnableConfig) => Promise<CheckpointTuple | undefined>,
): Promise<boolean> {
  const latest = await read(latestOf(config));
  return latest?.checkpoint.id !== checkpoint.id;
}
