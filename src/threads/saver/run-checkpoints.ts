/** What a run, or one of its tasks, can read of its thread's checkpoints. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseCheckpointSaver, type CheckpointTuple, getConfig } from "@langchain/langgraph";
import { defined, textIn } from "../../shared/values.js";
import { diaryWritten, type Entry } from "../diary.js";
import { nodesToEnter, readDelta } from "../langgraph/read-checkpoints.js";
import { isSaver } from "../langgraph/replace-methods.js";
import { inheritedCheckpointer, latestOf, ownThreadOf, parentOf } from "../langgraph/run-host.js";
import { soundSaver } from "../langgraph/sound-saver.js";

/** What a run can know about its thread besides the state. */
export interface RunCheckpoints {
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
): RunCheckpoints {
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

/*
 * What a task finds through the saver of its run.
 */

/**
 * Presents a saved checkpoint of the task's graph as the one that the run began on. Without an id, it is the latest.
 * LangGraph saves in the background, so it can also be the run's own. Undefined if the graph saves no checkpoints of its
 * own.
 */
export async function savedCheckpoints(
  config: RunnableConfig,
  checkpoint_id?: string,
): Promise<RunCheckpoints | undefined> {
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
export async function startingCheckpoints(config: RunnableConfig): Promise<RunCheckpoints | undefined> {
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

/** The nodes before the model in LangChain's agents. A run that waits for one of them has run no tool. */
const BEFORE_MODEL = /^(?:.*\.before_(?:agent|model)|model_request)$/;

/** Whether a checkpoint's run had not yet asked the model. */
export function isBeforeModel(tuple: CheckpointTuple): boolean {
  return enterBeforeModel(nodesToEnter(tuple));
}

/** The same for the nodes that the run was about to enter. */
export function enterBeforeModel(nodes: readonly string[]): boolean {
  return nodes.some((name) => BEFORE_MODEL.test(name));
}
