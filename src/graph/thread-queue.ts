/** The runs and updates of each thread in this process, one after the other. */

import { AsyncLocalStorage } from "node:async_hooks";
import { ThreadConflictError } from "../errors.js";
import { readAhead } from "../shared/read-ahead.js";
import { untilAborted } from "../shared/until-aborted.js";

/** What happens to a run that starts while another run of its thread goes on. */
export type ConcurrentRuns = "enqueue" | "reject";

/** A thread of a checkpointer. Two checkpointers can have threads with the same id. */
export interface Thread {
  readonly saver: object;
  readonly threadId: string;
}

export interface TurnOptions {
  readonly concurrentRuns: ConcurrentRuns;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** The time in which a run can write to its thread. */
interface Turn extends Thread {
  isOver: boolean;
  /** The turn of the run inside which this one was started. */
  readonly outer: Turn | undefined;
}

/** For each thread, the end of the last turn. A thread without runs has no entry. */
const queues = new WeakMap<object, Map<string, Promise<void>>>();
const currentTurn = new AsyncLocalStorage<Turn>();

/**
 * Does work when all earlier runs and updates of the thread have ended.
 *
 * @throws ThreadConflictError if the thread is busy and the work cannot wait, or the reason of an abort.
 */
export async function inTurn<Result>(
  thread: Thread,
  options: TurnOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const { turn, end } = await takeTurn(thread, options);
  try {
    return await currentTurn.run(turn, work);
  } finally {
    end();
  }
}

/**
 * Streams a run when all earlier runs and updates of the thread have ended. The turn ends with the run, although a
 * caller may stop reading before.
 *
 * @throws ThreadConflictError if the thread is busy and the run cannot wait, or the reason of an abort.
 */
export async function* streamInTurn<Chunk>(
  thread: Thread,
  options: TurnOptions,
  start: () => AsyncGenerator<Chunk>,
): AsyncGenerator<Chunk> {
  const { turn, end } = await takeTurn(thread, options);
  const run = async function* (): AsyncGenerator<Chunk> {
    try {
      yield* start();
    } finally {
      end();
    }
  };
  yield* currentTurn.run(turn, () => readAhead(run()));
}

async function takeTurn(thread: Thread, { concurrentRuns, signal }: TurnOptions) {
  const { saver, threadId } = thread;
  const outer = currentTurn.getStore();
  if (isInsideTurnOf(thread, outer)) throw busy(threadId, WAITS_FOR_ITSELF);
  const queue = queues.get(saver) ?? new Map<string, Promise<void>>();
  queues.set(saver, queue);
  const previous = queue.get(threadId);
  if (previous !== undefined && concurrentRuns === "reject") throw busy(threadId, IS_REFUSED);
  const turn: Turn = { saver, threadId, isOver: false, outer };
  let resolve = () => {};
  const ended = new Promise<void>((done) => {
    resolve = done;
  });
  queue.set(threadId, ended);
  const end = (): void => {
    turn.isOver = true;
    resolve();
    if (queue.get(threadId) === ended) queue.delete(threadId);
  };
  if (previous !== undefined) {
    try {
      await (signal === undefined ? previous : untilAborted(previous, signal));
    } catch (error) {
      // The next one still waits for the run before.
      previous.then(end);
      throw error;
    }
  }
  return { turn, end };
}

/** Whether code runs inside a run of the thread: such a run or update would wait for itself for ever. */
function isInsideTurnOf({ saver, threadId }: Thread, turn: Turn | undefined): boolean {
  if (turn === undefined) return false;
  const isSame = !turn.isOver && turn.saver === saver && turn.threadId === threadId;
  return isSame || isInsideTurnOf({ saver, threadId }, turn.outer);
}

const WAITS_FOR_ITSELF =
  "is inside the run that goes on, so it would wait for ever. Use another thread, or return a `Command` from the tool.";
const IS_REFUSED =
  'has `concurrentRuns: "reject"`. Try again when the other run has ended, or use `"enqueue"`.';

function busy(threadId: string, reason: string): ThreadConflictError {
  const message = `A run of the thread \`${threadId}\` goes on, and this one ${reason}`;
  return new ThreadConflictError("THREAD_BUSY", message, { threadId });
}
