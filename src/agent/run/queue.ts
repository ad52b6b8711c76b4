/** The runs and updates of each thread in this process, one after another. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidSettingError, ThreadConflictError } from "../../errors.js";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { errorMessage } from "../../shared/is-error.js";
import { madeOnce } from "../../shared/values.js";
import { answered, deferred, untilAborted } from "../../shared/waiting.js";
import type { ThreadLock } from "../../threads/saver/thread-lock.js";

/** A thread of a checkpointer. Two checkpointers can have threads with the same id. */
export interface Thread {
  readonly saver: object;
  readonly threadId: string;
}

interface QueueOptions {
  /**
   * What happens to a run that starts while another run of its thread goes on. A lock orders the runs of several
   * processes. Runs of one process wait for one another before they ask for it.
   */
  readonly concurrentRuns: "enqueue" | "reject" | ThreadLock;
  readonly signal?: AbortSignal | undefined;
  /** Called if the lock is lost. A state update writes once, and is refused if another process has written. */
  readonly onLost?: (cause: unknown) => void;
}

/** The time in which a run can write to its thread. */
interface Slot extends Thread {
  isOver: boolean;
  /** The slot of the run that started this one. */
  readonly outer: Slot | undefined;
}

/** For each thread, the end of its last slot. A thread without runs has no entry. */
const queues = forAllCopies("queues", () => new WeakMap<object, Map<string, Promise<void>>>());
const currentSlot = forAllCopies("current-slot", () => new AsyncLocalStorage<Slot>());

/**
 * Works on a thread once all earlier runs and updates of the thread have ended.
 *
 * @param thread Undefined: the work need not wait.
 * @throws ThreadConflictError if the thread is busy and the work cannot wait.
 * @throws the reason of an abort.
 */
export async function inQueue<Result>(
  thread: Thread | undefined,
  options: QueueOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  if (thread === undefined) return work();
  const { slot, end } = await takeSlot(thread, options);
  try {
    return await currentSlot.run(slot, work);
  } finally {
    await end();
  }
}

async function takeSlot(thread: Thread, { concurrentRuns, signal, onLost }: QueueOptions) {
  const { saver, threadId } = thread;
  const outer = currentSlot.getStore();
  if (isInsideSlotOf(thread, outer)) throw busy(threadId, WAITS_FOR_ITSELF);
  const queue = madeOnce(queues, saver, () => new Map<string, Promise<void>>());
  const previous = queue.get(threadId);
  if (previous !== undefined && concurrentRuns === "reject") throw busy(threadId, IS_REFUSED);
  const slot: Slot = { ...thread, isOver: false, outer };
  const { promise: ended, resolve } = deferred<void>();
  queue.set(threadId, ended);
  const leaveQueue = (): void => {
    slot.isOver = true;
    resolve();
    if (queue.get(threadId) === ended) queue.delete(threadId);
  };
  let release: Release = () => {};
  try {
    if (previous !== undefined) await untilAborted(previous, signal);
    if (typeof concurrentRuns === "object")
      release = await acquire(concurrentRuns, threadId, signal ?? new AbortController().signal, onLost);
  } catch (error) {
    // The next one still waits for the run before.
    (previous ?? Promise.resolve()).then(leaveQueue);
    throw error;
  }
  return { slot, end: async () => Promise.resolve(release()).finally(leaveQueue) };
}

type Release = Awaited<ReturnType<ThreadLock["acquire"]>>;

/** A lock that arrives after the abort is released at once. */
async function acquire(
  lock: ThreadLock,
  ...[threadId, signal, onLost]: Parameters<ThreadLock["acquire"]>
): Promise<Release> {
  const coming = (async () => lock.acquire(threadId, signal, onLost))();
  const release = await untilAborted(coming, signal).catch((error: unknown) => {
    coming.then((late) => late()).catch(() => {});
    throw error;
  });
  if (typeof release === "function")
    return () => answered((async () => release())(), { what: "The lock of the thread", signal });
  throw InvalidSettingError.expected(
    "concurrentRuns.acquire()",
    "the function that gives the lock back",
    release,
  );
}

/** Whether code runs inside a run of the thread. Another run or update there would wait for itself for ever. */
function isInsideSlotOf(thread: Thread, slot: Slot | undefined): boolean {
  if (slot === undefined) return false;
  const isSame = !slot.isOver && slot.saver === thread.saver && slot.threadId === thread.threadId;
  return isSame || isInsideSlotOf(thread, slot.outer);
}

const WAITS_FOR_ITSELF =
  "is inside the run that goes on, so it would wait for ever. Use another thread, or return a `Command` from the tool.";
const IS_REFUSED =
  'has `concurrentRuns: "reject"`. Try again when the other run has ended, or use `"enqueue"`.';

function busy(threadId: string, reason: string): ThreadConflictError {
  const message = `A run of the thread \`${threadId}\` goes on, and this one ${reason}`;
  return new ThreadConflictError("THREAD_BUSY", message, { threadId });
}

/** The error of a run whose lock another process can have. @param isInThread Whether the thread has its input. */
export function lockLost(
  { configurable }: RunnableConfig,
  cause: unknown,
  isInThread: boolean,
): ThreadConflictError {
  const threadId = String(configurable?.["thread_id"]);
  const remedy = isInThread ? "Continue the thread with the input `null`." : "Send its input again.";
  const message = `The lock of the thread \`${threadId}\` was lost while its run went on: ${errorMessage(cause)}. Another process can have it, so the run was ended. ${remedy}`;
  return new ThreadConflictError("THREAD_MOVED", message, { threadId, isInThread });
}
