/** The runs and updates of each thread in this process, one after another. */

import { AsyncLocalStorage } from "node:async_hooks";
import { ThreadConflictError } from "../../errors.js";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { madeOnce } from "../../shared/values.js";
import { deferred, untilAborted } from "../../shared/waiting.js";
import { mayWait, type ReleaseLock, type ThreadLock, takeLock } from "../../threads/saver/thread-lock.js";

/** A thread of a checkpointer. Two checkpointers can have threads with the same id. */
export interface Thread {
  readonly saver: object;
  readonly threadId: string;
}

interface QueueOptions {
  /**
   * What happens to a run that starts while another run of its thread is running. A lock orders the runs of several
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
  if (previous !== undefined && !mayWait(threadId)) throw busy(threadId, DOES_NOT_WAIT);
  const slot: Slot = { ...thread, isOver: false, outer };
  const { promise: ended, resolve } = deferred<void>();
  queue.set(threadId, ended);
  const leaveQueue = (): void => {
    slot.isOver = true;
    resolve();
    if (queue.get(threadId) === ended) queue.delete(threadId);
  };
  let release: ReleaseLock | undefined = async () => {};
  try {
    if (previous !== undefined) await untilAborted(previous, signal);
    if (typeof concurrentRuns === "object")
      release = await takeLock(concurrentRuns, { threadId, signal, onLost, setting: "concurrentRuns" });
    if (release === undefined) throw busy(threadId, DOES_NOT_WAIT);
  } catch (error) {
    // The next one still waits for the run before.
    (previous ?? Promise.resolve()).then(leaveQueue);
    throw error;
  }
  const giveBack = release;
  return { slot, end: async () => giveBack().finally(leaveQueue) };
}

/** Whether code runs inside a run of the thread. Another run or update there would wait for itself for ever. */
function isInsideSlotOf(thread: Thread, slot: Slot | undefined): boolean {
  if (slot === undefined) return false;
  const isSame = !slot.isOver && slot.saver === thread.saver && slot.threadId === thread.threadId;
  return isSame || isInsideSlotOf(thread, slot.outer);
}

const WAITS_FOR_ITSELF =
  "is inside that run, so it would wait for ever. Use another thread, or return a `Command` from the tool.";
const DOES_NOT_WAIT = "does not wait for its end.";
const IS_REFUSED =
  'has `concurrentRuns: "reject"`. Try again when the other run has ended, or use `"enqueue"`.';

function busy(threadId: string, reason: string): ThreadConflictError {
  const message = `A run of the thread \`${threadId}\` is running, and this one ${reason}`;
  return new ThreadConflictError("THREAD_BUSY", message, { threadId });
}
