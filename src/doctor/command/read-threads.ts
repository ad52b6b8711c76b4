import { setImmediate } from "node:timers/promises";
import type { StoredThread } from "../stored-thread.js";
import { reasonOf } from "../targets/reason-of.js";
import { UsageError } from "../targets/usage-error.js";
import type { ThreadRef, ThreadSelection, ThreadStore } from "../thread-store.js";
import type { CommandIo } from "./command-io.js";
import { mapInOrder } from "./map-in-order.js";
import { startProgress } from "./output/progress.js";

/** After this many threads in a row whose read failed, the store itself is taken to have failed. */
const MOST_FAILURES = 5;

export interface ReadOptions {
  readonly selection: ThreadSelection;
  readonly concurrency: number;
  readonly quiet: boolean;
}

/** How the reading of a target ended. */
export interface Reading {
  readonly threads: number;
  /** The threads that were asked for, and are not there. */
  readonly missing: readonly string[];
  /** Why not everything was read; undefined if everything was. */
  readonly stopped: string | undefined;
}

/**
 * Reads threads, several at once, and passes what is made of them on in order.
 *
 * @param work Contract: called for several threads at once.
 * @param take Contract: called for one result at a time, in the order of the threads.
 * @throws UsageError if none of the threads that were asked for is there.
 */
export async function readThreads<Result>(
  store: ThreadStore,
  { selection, concurrency, quiet }: ReadOptions,
  io: CommandIo,
  work: (ref: ThreadRef, thread: StoredThread) => Promise<Result>,
  take: (result: Result) => Promise<void>,
): Promise<Reading> {
  const progress = startProgress(io, quiet);
  const seen = new Set<string>();
  let threads = 0;
  let failures = 0;
  let stopped: string | undefined;
  const results = mapInOrder(store.threads(selection), concurrency, io.signal, async (ref) => {
    // SQLite answers at once, so without this no signal would be noticed before the end.
    await setImmediate();
    let thread: StoredThread;
    try {
      thread = await store.read(ref);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures >= MOST_FAILURES) throw error;
      thread = unreadable(ref, reasonOf(error));
    }
    const isMeant = selection.status === undefined || thread.status === selection.status;
    return { ref, result: isMeant ? { value: await work(ref, thread) } : undefined };
  });
  try {
    for await (const { ref, result } of results) {
      if (selection.threadIds !== undefined) seen.add(ref.threadId);
      if (result === undefined) continue;
      if (ref.namespace === "") threads += 1;
      await progress.count();
      await take(result.value);
    }
    if (io.signal.aborted) stopped = "It was interrupted.";
  } catch (error) {
    if (UsageError.isInstance(error)) throw error;
    stopped = reasonOf(error);
  } finally {
    await progress.end();
  }
  const missing = stopped === undefined ? (selection.threadIds ?? []).filter((id) => !seen.has(id)) : [];
  if (missing.length > 0 && seen.size === 0)
    throw new UsageError(`${store.target} has no thread ${missing.join(" and no thread ")}.`);
  return { threads, missing, stopped };
}

function unreadable({ threadId, namespace }: ThreadRef, reason: string): StoredThread {
  return {
    threadId,
    namespace,
    checkpointId: undefined,
    status: "error",
    content: { kind: "unreadable", reason },
    endedRuns: [],
    openTasks: undefined,
    otherChannels: [],
  };
}
