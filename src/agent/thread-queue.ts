import { AsyncLocalStorage } from "node:async_hooks";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { InvalidSettingError, ThreadConflictError } from "../errors.js";
import { errorMessage } from "../shared/is-error.js";
import { answered, readAhead, untilAborted } from "../shared/waiting.js";
import { isSaver } from "../threads/langgraph/replace-methods.js";
import {
  inheritedCheckpointer,
  isServedRun,
  isSubgraphRun,
  withInheritedCheckpointer,
} from "../threads/langgraph/run-host.js";
import { type LateResults, lateResultsOf } from "../threads/late-results.js";
import { quickSaver } from "../threads/quick-saver.js";
import { viewForRun, type WatchedCheckpointer } from "../threads/run-saver.js";
import type { ThreadLock } from "../threads/thread-lock.js";

/** How one run or update of the state reads and writes its thread. */
interface ThreadAccess {
  /** The view through which the thread is read and written. */
  readonly watched: WatchedCheckpointer;
  /** Contract: does an update when the earlier runs of the thread have ended. */
  readonly update: <Result>(options: TurnOptions, work: () => Promise<Result>) => Promise<Result>;
  /** Contract: streams a run when the earlier runs of the thread have ended. */
  readonly stream: <Chunk>(options: TurnOptions, start: () => AsyncGenerator<Chunk>) => AsyncGenerator<Chunk>;
}

/**
 * A run of a subgraph belongs to the run of its parent. LangGraph's server queues the runs of a thread itself. Neither
 * of them waits here, and neither does a run that saves nothing.
 */
export function accessThread(
  checkpointer: unknown,
  options: RunnableConfig,
  messageIds: () => readonly string[] = () => [],
): ThreadAccess {
  const saver = isSaver(checkpointer) ? quickSaver(checkpointer) : undefined;
  const { signal } = options;
  const threadId = threadIdIn(options);
  if (!isSaver(checkpointer) || threadId === undefined || isSubgraphRun(options) || isServedRun(options))
    return {
      watched: viewForRun(saver, { signal }),
      update: (_, work) => work(),
      stream: (_, start) => start(),
    };
  const thread: Thread = { saver: checkpointer, threadId: String(threadId) };
  return {
    watched: viewForRun(saver, { signal, guarded: { threadId, messageIds } }),
    update: (turn, work) => inTurn(thread, turn, work),
    stream: (turn, start) => streamInTurn(thread, turn, start),
  };
}

function threadIdIn({ configurable }: RunnableConfig): string | number | undefined {
  const threadId: unknown = configurable?.["thread_id"];
  return typeof threadId === "string" || typeof threadId === "number" ? threadId : undefined;
}

/** How a run accesses its thread, and what it can know about the thread. */
interface WatchedThread<Options> extends Pick<ThreadAccess, "watched" | "stream"> {
  /** The options to run with. */
  readonly bound: Options;
  /** Use it in place of the graph's checkpointer. Undefined: the graph's own one stays. */
  readonly checkpointer: BaseCheckpointSaver | undefined;
  /** Makes what keeps late results of the thread. Undefined for a run whose thread no other run continues. */
  readonly lateResults: (store: BaseStore | undefined) => LateResults | undefined;
}

/**
 * Watches the checkpointer of a run, which brings messages with these ids. With `checkpointer: true`, a subgraph has a
 * memory of its own, which it saves with the checkpointer of its parent. So that one is watched.
 */
export function watchThread<Options extends RunnableConfig>(
  checkpointer: unknown,
  options: Options,
  messageIds: () => readonly string[],
): WatchedThread<Options> {
  const inherits = checkpointer === true && isSubgraphRun(options);
  const own = inherits ? inheritedCheckpointer(options) : checkpointer;
  const { watched, stream } = accessThread(own, options, messageIds);
  const threadId = threadIdIn(options);
  const lateResults = (store: BaseStore | undefined) => {
    if (!isSaver(own) || threadId === undefined || (!inherits && isSubgraphRun(options))) return undefined;
    const { checkpoint_ns, checkpoint_id } = { ...options.configurable };
    // A graph in a task has a namespace of its own, without the id of the task if it has a memory.
    const namespace = inherits ? String(checkpoint_ns ?? "").replaceAll(/:[^|]*/g, "") : "";
    const namesCheckpoint = !inherits && checkpoint_id !== undefined;
    return lateResultsOf({ saver: own, threadId, namespace, store, namesCheckpoint });
  };
  if (!inherits || watched.checkpointer === undefined)
    return { bound: options, watched, checkpointer: watched.checkpointer, stream, lateResults };
  const bound = withInheritedCheckpointer(options, watched.checkpointer);
  return { bound, watched, checkpointer: undefined, stream, lateResults };
}

/*
 * The runs and updates of each thread in this process, one after the other.
 */

/**
 * What happens to a run that starts while another run of its thread goes on. A lock orders the runs of several processes,
 * and those of one process wait for one another before they ask for it.
 */
type ConcurrentRuns = "enqueue" | "reject" | ThreadLock;

/** A thread of a checkpointer. Two checkpointers can have threads with the same id. */
interface Thread {
  readonly saver: object;
  readonly threadId: string;
}

interface TurnOptions {
  readonly concurrentRuns: ConcurrentRuns;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called if the lock is lost. An update of the state writes once, and is refused if another process has written. */
  readonly onLost?: (cause: unknown) => void;
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
async function inTurn<Result>(
  thread: Thread,
  options: TurnOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const { turn, end } = await takeTurn(thread, options);
  try {
    return await currentTurn.run(turn, work);
  } finally {
    await end();
  }
}

/**
 * Streams a run when all earlier runs and updates of the thread have ended. The turn ends with the run, although a
 * caller may stop reading before.
 *
 * @throws ThreadConflictError if the thread is busy and the run cannot wait, or the reason of an abort.
 */
async function* streamInTurn<Chunk>(
  thread: Thread,
  options: TurnOptions,
  start: () => AsyncGenerator<Chunk>,
): AsyncGenerator<Chunk> {
  const { turn, end } = await takeTurn(thread, options);
  const run = async function* (): AsyncGenerator<Chunk> {
    try {
      yield* start();
    } finally {
      await end();
    }
  };
  yield* currentTurn.run(turn, () => readAhead(run()));
}

async function takeTurn(thread: Thread, { concurrentRuns, signal, onLost }: TurnOptions) {
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
  const leaveQueue = (): void => {
    turn.isOver = true;
    resolve();
    if (queue.get(threadId) === ended) queue.delete(threadId);
  };
  let release: Release = () => {};
  try {
    if (previous !== undefined) await (signal === undefined ? previous : untilAborted(previous, signal));
    if (typeof concurrentRuns === "object")
      release = await acquire(concurrentRuns, threadId, signal ?? new AbortController().signal, onLost);
  } catch (error) {
    // The next one still waits for the run before.
    (previous ?? Promise.resolve()).then(leaveQueue);
    throw error;
  }
  const end = async (): Promise<void> => {
    try {
      await release();
    } finally {
      leaveQueue();
    }
  };
  return { turn, end };
}

type Release = Awaited<ReturnType<ThreadLock["acquire"]>>;

/** A lock that comes after the abort is given back at once. */
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
