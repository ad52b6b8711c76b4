/**
 * A checkpointer whose reads wait for the writes to the same thread, and tell how its last run has ended. A LangChain
 * agent's middleware makes it of the run's own: see `pending-writes.ts`.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as delay, setImmediate as yieldToEvents } from "node:timers/promises";
import { types } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { safely, toJson } from "../../shared/json.js";
import { madeOnce } from "../../shared/values.js";
import {
  hasAnswers,
  hasTasks,
  type StoredState,
  unanswered,
  type Writes,
} from "../langgraph/read-checkpoints.js";
import { isSaver, noteOwnMethod, originalOf } from "../langgraph/replace-methods.js";
import {
  checkpointOfStep,
  inheritedCheckpointer,
  isCheckpointNamed,
  isOfRun,
  namespaceOfGraph,
} from "../langgraph/run-host.js";
import { LONGEST_WAIT, PendingWrites } from "./pending-writes.js";
import { isPassed } from "./run-checkpoints.js";

/** What is known of the writes to one namespace of a thread. */
interface Thread {
  readonly pending: PendingWrites;
  /** The id of the last checkpoint that was saved. */
  saved: string | undefined;
  /** Why the last checkpoint was not saved. Undefined: it was. */
  failure: { readonly error: unknown } | undefined;
  /** The id of a checkpoint that may have been on its way before its writes were counted. */
  uncounted: string | undefined;
  /** Who watches the thread's run in this process. */
  watcher: Watcher | undefined;
  /** Resolves when the end of the run before it is noted. */
  noted: Promise<void> | undefined;
  /** Whether the latest read found a run that has not ended. Undefined: there was none since the last answer. */
  isUnfinished: boolean | undefined;
}

/** Contract: none of them throws. */
interface Watcher {
  /** Called with each checkpoint that was saved. */
  readonly saved: (state: StoredState) => void;
  /** Called with each list of writes, before it is saved. */
  readonly writing: (writes: Writes) => void;
  /** Called with each list of writes that was saved. */
  readonly written: (writes: Writes) => void;
  /** Called if something could not be saved. */
  readonly lost: () => void;
  /** Called by another run of the thread that begins. It resolves when it is told how this one has ended. */
  readonly superseded: () => Promise<void>;
}

type Threads = Map<string, Thread>;
type GetTuple = BaseCheckpointSaver["getTuple"];

/** The checkpointer's threads. All copies of this library and all views of the checkpointer find them there. */
const THREADS = Symbol.for("langgraph-tether.pending-writes");
/** A checkpointer can read while it writes. That read must not wait for its own write. */
const insideWrite = forAllCopies("inside-write", () => new AsyncLocalStorage<true | undefined>());
/**
 * Makes reads of a run's checkpointer wait until no write of the same thread is on its way through this object. It is
 * done once for each checkpointer, and notes what reads find. A frozen one stays as it is. So does a proxy: what is
 * defined on it would become part of its target, which others may use without the proxy.
 *
 * The first run of a process cannot be sooner than its own first write. Until LangGraph saves the next checkpoint, a
 * read looks whether that write has arrived.
 *
 * @param config A task's config.
 */
export function waitForWrites(config: RunnableConfig): void {
  const given = inheritedCheckpointer(config);
  const saver = isSaver(given) ? originalOf(given) : undefined;
  if (!isSaver(saver) || types.isProxy(saver) || threadsOf(saver) !== undefined) return;
  safely(() => {
    const threads: Threads = new Map();
    const thread = threadIn(threads, placeOf(config));
    thread.uncounted = checkpointOfStep(config);
    define(saver, THREADS, threads);
    replaceWrites(saver, threads);
    replaceRead(saver, threads);
  });
}

/**
 * Whether the checkpoint that a task's superstep began on is saved, after what is on its way has ended. With the
 * durability `exit`, it is not.
 *
 * @throws Error if a write does not end in time, and the checkpointer's error if it could not save the thread.
 */
export async function isStepSaved(config: RunnableConfig): Promise<boolean> {
  const saver = inheritedCheckpointer(config);
  const id = checkpointOfStep(config);
  if (!isSaver(saver) || id === undefined) return false;
  const place = placeOf(config);
  const thread = threadsOf(originalOf(saver) as BaseCheckpointSaver)?.get(keyOf(place));
  if (thread !== undefined && thread.saved !== id) await allEnded(thread, place);
  if (thread?.saved === id) return true;
  if (thread?.failure !== undefined) throw thread.failure.error;
  const tuple = await saver.getTuple({ configurable: { ...place.configurable, checkpoint_id: id } });
  return tuple !== undefined && tuple !== null;
}

/**
 * Whether a run of the task's thread may have ended early, before this one began: LangGraph has read the thread for this
 * run, and what it read tells. True if it is not known, as in the first run of a process, and with a checkpointer that
 * cannot be changed.
 *
 * Contract: call it once in a run. A read counts for one run, so one that is not seen leaves no wrong answer behind.
 */
export function mayHaveEndedEarly(config: RunnableConfig): boolean {
  const saver = inheritedCheckpointer(config);
  if (!isSaver(saver)) return false;
  const thread = threadsOf(originalOf(saver) as BaseCheckpointSaver)?.get(keyOf(placeOf(config)));
  const isUnfinished = thread?.isUnfinished ?? true;
  if (thread !== undefined) thread.isUnfinished = undefined;
  return isUnfinished;
}

interface WatchedRun {
  /** The id of the latest saved checkpoint. */
  readonly latestId: () => string | undefined;
  /** Whether anything of the thread was saved, or is being saved. An agent inside a saved graph may not be. */
  readonly isSaved: () => boolean;
  /** The watcher of the run before it, whose end was not seen. */
  readonly before: Watcher | undefined;
  /** Resolves when the end of the run before it is noted. */
  readonly noted: Promise<void> | undefined;
  /** Begins to note the end. The work waits for writes, although one may have led to it. */
  readonly note: (work: () => Promise<void>) => void;
  readonly stop: () => void;
}

/**
 * Watches what is saved of a task's run, until another run of its thread is watched.
 *
 * @returns Undefined: nothing is saved, or the checkpointer cannot be watched.
 */
export function watchRun(config: RunnableConfig, watcher: Watcher): WatchedRun | undefined {
  const saver = inheritedCheckpointer(config);
  const threads = isSaver(saver) ? threadsOf(originalOf(saver) as BaseCheckpointSaver) : undefined;
  if (threads === undefined) return undefined;
  const thread = threadIn(threads, placeOf(config));
  const { watcher: before, noted } = thread;
  thread.watcher = watcher;
  const stop = (): void => {
    if (thread.watcher === watcher) thread.watcher = undefined;
  };
  const isSaved = () => thread.saved !== undefined || thread.pending.areSome;
  const note = (work: () => Promise<void>): void => {
    thread.noted = insideWrite.run(undefined, work).catch(() => {});
  };
  return { latestId: () => thread.saved, isSaved, before, noted, note, stop };
}

function threadsOf(saver: BaseCheckpointSaver): Threads | undefined {
  return Reflect.get(saver, THREADS);
}

function define(target: object, name: PropertyKey, value: object): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function replace<Name extends "getTuple" | "put" | "putWrites">(
  saver: BaseCheckpointSaver,
  name: Name,
  method: BaseCheckpointSaver[Name],
): void {
  noteOwnMethod(method, saver[name]);
  define(saver, name, method);
}

function replaceWrites(saver: BaseCheckpointSaver, threads: Threads): void {
  const { put, putWrites } = saver;
  replace(saver, "put", function (this: BaseCheckpointSaver, ...given) {
    const [config, checkpoint, metadata] = given;
    const thread = threadIn(threads, config);
    // LangGraph saves a run's checkpoints one after another.
    thread.uncounted = undefined;
    const begin = async () => {
      try {
        const saved = await Reflect.apply(put, this, given);
        thread.saved = checkpoint.id;
        thread.failure = undefined;
        thread.watcher?.saved({ checkpoint, metadata });
        return saved;
      } catch (error) {
        thread.failure = { error };
        thread.watcher?.lost();
        throw error;
      }
    };
    return thread.pending.during(() => insideWrite.run(true, begin));
  });
  replace(saver, "putWrites", function (this: BaseCheckpointSaver, ...given) {
    const [config, writes] = given;
    const thread = threadIn(threads, config);
    thread.watcher?.writing(writes);
    const begin = async () => {
      try {
        await Reflect.apply(putWrites, this, given);
      } catch (error) {
        thread.watcher?.lost();
        throw error;
      }
      thread.watcher?.written(writes);
    };
    return thread.pending.during(() => insideWrite.run(true, begin));
  });
}

function replaceRead(saver: BaseCheckpointSaver, threads: Threads): void {
  const { getTuple } = saver;
  replace(saver, "getTuple", async function (this: BaseCheckpointSaver, ...given) {
    const [config] = given;
    const waits = insideWrite.getStore() === undefined;
    // LangGraph begins the next write of a run when one has ended, and its last one after the abort.
    if (waits && config.configurable?.["checkpoint_id"] === undefined) await yieldToEvents();
    const thread = threadIn(threads, config);
    // A run that begins has saved nothing yet.
    if (isOfRun(config)) thread.failure = undefined;
    if (waits) {
      await uncountedEnded(thread, config, (named) => Reflect.apply(getTuple, this, [named]));
      await allEnded(thread, config);
    }
    const tuple = await Reflect.apply(getTuple, this, given);
    // Some checkpointers return null.
    thread.isUnfinished = tuple != null && mayHaveLeft(tuple);
    if (tuple == null || !isOfRun(config) || !isCheckpointNamed(config) || !hasAnswers(tuple)) return tuple;
    // A run that begins where the thread has gone on answers again.
    const read = (latest: RunnableConfig) => Reflect.apply(getTuple, this, [latest]);
    return (await isPassed(tuple, config, read)) ? unanswered(tuple) : tuple;
  });
}

function mayHaveLeft(tuple: CheckpointTuple): boolean {
  return hasTasks(tuple) || (tuple.pendingWrites ?? []).length > 0;
}

async function allEnded({ pending }: Thread, { configurable }: RunnableConfig): Promise<void> {
  const since = performance.now();
  while (pending.areSome && performance.now() - since < LONGEST_WAIT) {
    await pending.endedInTime(configurable?.["thread_id"]);
    await yieldToEvents();
  }
}

/** How long a read looks for a checkpoint whose write was not counted. With the durability `exit`, there is none. */
const LOOKS = [0, 10, 40, 160];

async function uncountedEnded(thread: Thread, config: RunnableConfig, read: GetTuple): Promise<void> {
  for (const wait of LOOKS) {
    const { uncounted: checkpoint_id } = thread;
    if (checkpoint_id === undefined) return;
    await delay(wait);
    const tuple = await read({ configurable: { ...config.configurable, checkpoint_id } });
    if (tuple !== undefined && tuple !== null) break;
  }
  thread.uncounted = undefined;
}

/** The most threads that are remembered after their writes have ended. */
const MOST_THREADS = 1_000;

function threadIn(threads: Threads, config: RunnableConfig): Thread {
  const thread = madeOnce(threads, keyOf(config), () => ({
    pending: new PendingWrites(),
    saved: undefined,
    failure: undefined,
    watcher: undefined,
    noted: undefined,
    uncounted: undefined,
    isUnfinished: undefined,
  }));
  if (threads.size > MOST_THREADS) {
    for (const [key, other] of threads) {
      if (other === thread || other.pending.areSome || other.watcher !== undefined) continue;
      threads.delete(key);
      break;
    }
  }
  return thread;
}

function keyOf({ configurable }: RunnableConfig): string {
  const { thread_id, checkpoint_ns } = { ...configurable };
  return toJson([String(thread_id), String(checkpoint_ns ?? "")]) ?? "";
}

/** A task's place as its graph's checkpoints name it. */
function placeOf(config: RunnableConfig): RunnableConfig {
  const { thread_id } = { ...config.configurable };
  return { configurable: { thread_id, checkpoint_ns: namespaceOfGraph(config) } };
}
