import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { replaceMethods } from "../replace-methods.js";
import { readDelta } from "./read-delta.js";
import { saveResumeValue } from "./resume-values.js";

/** What a run can know about its thread besides the state. */
export interface WatchedCheckpoints {
  /** The checkpoint that the run began on, with the writes of tasks of an unfinished run. */
  abandoned: CheckpointTuple | undefined;
  /** Whether the thread had gone on after `abandoned`, so that the run began another branch of it. */
  isFork: boolean;
  /** The values in the latest checkpoint that this run has saved. */
  saved: Readonly<Record<string, unknown>> | undefined;
  /** Reads a checkpoint of the run's thread. Undefined for a run without a checkpointer. */
  readonly read: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
  /** The checkpoint that was saved last before this one, in any branch of the thread. */
  readonly readBefore: ((config: RunnableConfig) => Promise<CheckpointTuple | undefined>) | undefined;
  /** Reads the history of a checkpoint that does not hold it, because its `messages` were a delta channel. */
  readonly readDelta?: (config: RunnableConfig) => Promise<unknown>;
}

export interface WatchedCheckpointer {
  /**
   * Call it before each run. The next checkpoint that is read becomes `abandoned`.
   *
   * @param resumeValue A value to save with that checkpoint. Undefined: none.
   */
  readonly restart: (resumeValue?: unknown) => void;
  readonly checkpoints: WatchedCheckpoints;
  /**
   * Contract: call it when the run has ended. It resolves when all writes have ended that were begun, and no other one
   * begins. LangGraph waits for those of a run, but not for those of its subgraphs when it is aborted, and not for the
   * others when one has failed.
   */
  readonly saved: () => Promise<void>;
  /** Use it in place of the original checkpointer. Undefined if there is none. */
  readonly checkpointer: BaseCheckpointSaver | undefined;
}

/**
 * Remembers the first checkpoint that a run reads, because an earlier run may have left it unfinished, and the last one
 * that it has saved.
 */
export function watchCheckpointer(saver: BaseCheckpointSaver | undefined): WatchedCheckpointer {
  if (saver === undefined) {
    const checkpoints = {
      abandoned: undefined,
      isFork: false,
      saved: undefined,
      read: undefined,
      readBefore: undefined,
    };
    return { checkpoints, checkpointer: undefined, restart: () => {}, saved: async () => {} };
  }
  const checkpoints: WatchedCheckpoints = {
    abandoned: undefined,
    isFork: false,
    saved: undefined,
    read: (config) => saver.getTuple(config),
    readBefore: (config) => readBefore(saver, config),
    readDelta: (config) => readDelta(saver, config),
  };
  let isFirst = true;
  let toSave: unknown;
  /** Why nothing more is saved. */
  let isClosed: { readonly reason: unknown } | undefined;
  const restart = (resumeValue?: unknown): void => {
    isClosed = undefined;
    isFirst = true;
    toSave = resumeValue;
  };
  const getTuple = async (
    config: Parameters<BaseCheckpointSaver["getTuple"]>[0],
  ): Promise<CheckpointTuple | undefined> => {
    const remembers = isFirst;
    isFirst = false;
    const tuple = await saver.getTuple(config);
    if (!remembers) return tuple;
    checkpoints.abandoned = tuple;
    checkpoints.isFork = await isSuperseded(saver, config, tuple);
    if (tuple !== undefined && toSave !== undefined && !checkpoints.isFork)
      await saveResumeValue(saver, tuple, toSave);
    return tuple;
  };
  const pending = new Set<Promise<unknown>>();
  // LangGraph saves one checkpoint after the other. If one is not saved, what follows would continue nothing.
  const save = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    if (isClosed !== undefined) throw isClosed.reason;
    const writing = write();
    pending.add(writing);
    try {
      return await writing;
    } catch (reason) {
      isClosed ??= { reason };
      throw reason;
    } finally {
      pending.delete(writing);
    }
  };
  const put: BaseCheckpointSaver["put"] = async (...given) => {
    const config = await save(() => saver.put(...given));
    checkpoints.saved = given[1].channel_values;
    return config;
  };
  const putWrites: BaseCheckpointSaver["putWrites"] = (...given) => save(() => saver.putWrites(...given));
  const saved = async (): Promise<void> => {
    isClosed ??= { reason: new Error("The run has ended, so nothing more of it is saved.") };
    while (pending.size > 0) await Promise.allSettled(pending);
  };
  return { checkpoints, checkpointer: replaceMethods(saver, { getTuple, put, putWrites }), restart, saved };
}

/** A client can name the thread's latest checkpoint too. */
async function isSuperseded(
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  tuple: CheckpointTuple | undefined,
): Promise<boolean> {
  const { checkpoint_id, ...configurable } = { ...config.configurable };
  if (checkpoint_id === undefined || !tuple?.pendingWrites?.length) return false;
  const latest = await saver.getTuple({ ...config, configurable });
  return latest?.checkpoint.id !== tuple.checkpoint.id;
}

/** The checkpoint that was saved last before this one, in any branch of the thread. */
export async function readBefore(
  saver: Pick<BaseCheckpointSaver, "list">,
  before: RunnableConfig,
): Promise<CheckpointTuple | undefined> {
  const { checkpoint_id: _, ...configurable } = { ...before.configurable };
  for await (const tuple of saver.list({ configurable }, { before, limit: 1 })) return tuple;
  return undefined;
}
