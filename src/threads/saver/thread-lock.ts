/** A lock on threads that several processes share, and one that PostgreSQL holds. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidSettingError, ThreadConflictError } from "../../errors.js";
import { hintAtClass } from "../../shared/check-settings.js";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { errorMessage } from "../../shared/is-error.js";
import { hasMethods, isRecord } from "../../shared/values.js";
import { answered, untilAborted, withDeadline } from "../../shared/waiting.js";
import { lockKey } from "../langgraph/saver-databases.js";

/** A lock on threads that several processes share. */
export interface ThreadLock {
  /**
   * Contract: resolves once no other process holds the thread's lock, to the function that releases it. It is called
   * when the run's last write is saved. If `acquire` rejects, the run writes nothing and rejects with the same error.
   * If the lock cannot be released within 30 seconds, the run rejects too, although all its writes are saved.
   *
   * @param signal - The run's signal. If it aborts, the wait ends with its reason.
   * @param onLost - Call it with the cause if the lock is lost before its release, so that another process can have it.
   * The run then ends with a `ThreadConflictError`.
   */
  acquire(
    threadId: string,
    signal: AbortSignal,
    onLost?: (cause: unknown) => void,
  ): Promise<() => void | Promise<void>>;
  /**
   * Contract: the same, but resolves to undefined if another process holds the lock. `finishThreads` skips such a
   * thread. Without this method, it waits for the lock.
   */
  tryAcquire?(
    threadId: string,
    signal: AbortSignal,
    onLost?: (cause: unknown) => void,
  ): Promise<(() => void | Promise<void>) | undefined>;
}

/** The parts of a `Pool` from the package `pg` that are used. */
export interface LockPool {
  connect(): Promise<LockClient>;
}

interface LockClient {
  query(text: string, values?: unknown[]): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  release(destroy?: boolean): void;
}

/** How long a run waits for a free connection, in milliseconds. */
const LONGEST_WAIT_FOR_CONNECTION = 10_000;
/** How long a run's end waits for the server to release the lock, before it closes the connection. */
const LONGEST_RELEASE = 5_000;

/**
 * What a lock's session needs. Without keepalives the server would not notice a dead connection: it would hold the lock
 * of a machine that lost power for two hours. A database can also limit how long a statement waits and a session is
 * idle. But a run waits for the one before it, and its lock is idle until it ends. Older servers lack some of these.
 */
const SESSION_SETTINGS = {
  tcp_keepalives_idle: "20",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  statement_timeout: "0",
  lock_timeout: "0",
  idle_session_timeout: "0",
  transaction_timeout: "0",
};

const SET_UP =
  "SELECT set_config(wanted.key, wanted.value, false) FROM json_each_text($1) AS wanted " +
  "JOIN pg_settings ON pg_settings.name = wanted.key";

/**
 * Makes a thread lock from a PostgreSQL database: a session's advisory lock. Runs of a thread get it in the order of
 * their requests. It is free again once its run has saved its last write, or when its process or the database dies.
 * Pass it as the option `concurrentRuns`: `postgresThreadLock(new Pool({ connectionString, max: 50 }))`.
 *
 * @param pool - A `Pool` of the package `pg`, used for nothing else: each run that holds or awaits the lock has its own
 *   connection, so give it as many as this process has runs at once. A connection that PgBouncer shares by transaction
 *   cannot hold such a lock.
 * @throws InvalidSettingError for a value that is not a pool.
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph, type LockPool, postgresThreadLock } from "langgraph-tether";
 *
 * // In your program: const pool = new Pool({ connectionString, max: 50 });
 * const client = { query: async () => {}, on: () => {}, removeListener: () => {}, release: () => {} };
 * const pool: LockPool = { connect: async () => client };
 *
 * const agent = createAgentGraph({
 *   model: "offline:",
 *   checkpointer: new MemorySaver(),
 *   concurrentRuns: postgresThreadLock(pool),
 * });
 * const thread = { configurable: { thread_id: "1" } };
 * const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Hello" }] }, thread);
 * console.log(messages.length); // 2
 * ```
 */
export function postgresThreadLock(pool: LockPool): ThreadLock {
  if (isClient(pool))
    throw new InvalidSettingError(
      "pool",
      "Expected `pool` to be a `Pool` of the package `pg`, got a `Client`. A client has one connection, and each run needs its own.",
    );
  if (!hasMethods(pool, "connect"))
    throw InvalidSettingError.expected("pool", "a `Pool` of the package `pg`", pool, hintAtClass(pool));
  const take = async (
    statement: string,
    ...[threadId, signal, onLost]: Parameters<ThreadLock["acquire"]>
  ): Promise<(() => Promise<void>) | undefined> => {
    const client = await connect(pool, threadId, signal);
    let isHeld = false;
    // The server releases the lock of a connection that breaks.
    const lose = (error: Error): void => void (isHeld && onLost?.(error));
    client.on("error", lose);
    const leave = (isBroken: boolean): void => {
      // A closed client's socket can still report an error.
      if (!isBroken) client.removeListener("error", lose);
      client.release(isBroken);
    };
    const key = lockKey("lock", "run", threadId);
    let answer: unknown;
    try {
      await untilAborted(client.query(SET_UP, [JSON.stringify(SESSION_SETTINGS)]), signal);
      answer = await untilAborted(client.query(statement, [key]), signal);
    } catch (error) {
      leave(true);
      throw error;
    }
    if (isRefused(answer)) {
      leave(false);
      return undefined;
    }
    isHeld = true;
    return async () => {
      isHeld = false;
      try {
        await withDeadline(() => client.query("SELECT pg_advisory_unlock($1)", [key]), {
          signal: undefined,
          timeoutMs: LONGEST_RELEASE,
          timeoutError: () => new Error("The server does not give the lock back."),
        });
        leave(false);
      } catch {
        leave(true);
      }
    };
  };
  return {
    acquire: async (...given) => (await take("SELECT pg_advisory_lock($1)", ...given)) ?? (() => {}),
    tryAcquire: (...given) => take("SELECT pg_try_advisory_lock($1) AS taken", ...given),
  };
}

/** Whether the server has not given the lock, because another session holds it. */
function isRefused(answer: unknown): boolean {
  const rows: unknown = isRecord(answer) ? answer["rows"] : undefined;
  return Array.isArray(rows) && Object(rows[0]).taken === false;
}

/** A client of `pg` has `connect` too, but it resolves to nothing. Only clients can escape literals. */
function isClient(pool: unknown): boolean {
  return hasMethods(pool, "connect", "query", "escapeLiteral");
}

/** @throws The abort's reason, the connection's error, or an error that says that the pool is exhausted. */
async function connect(pool: LockPool, threadId: string, signal: AbortSignal): Promise<LockClient> {
  const connecting = pool.connect();
  try {
    return await withDeadline(() => connecting, {
      signal,
      timeoutMs: LONGEST_WAIT_FOR_CONNECTION,
      timeoutError: (milliseconds) =>
        new Error(
          `Expected a free connection for the lock of the thread \`${threadId}\` within ${milliseconds / 1_000} ` +
            "seconds, but all connections of the pool are in use. Give the lock a pool of its own, with a " +
            "connection for each run of this process that is running or waits.",
        ),
    });
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => {},
    );
    throw error;
  }
}

/*
 * How a run takes a lock.
 */

export type ReleaseLock = () => Promise<void>;

interface Taking {
  readonly threadId: string;
  readonly signal: AbortSignal | undefined;
  readonly onLost?: ((cause: unknown) => void) | undefined;
  /** The setting that has the lock, for errors. */
  readonly setting: string;
}

/**
 * Takes a thread's lock. Undefined: another process holds it, and this run does not wait. A lock that arrives after the
 * abort is released at once.
 *
 * @throws The abort's reason, the lock's error, or InvalidSettingError if it gives no function.
 */
export async function takeLock(
  lock: ThreadLock,
  { threadId, signal, onLost, setting }: Taking,
): Promise<ReleaseLock | undefined> {
  const patience = signal ?? new AbortController().signal;
  const triesOnly = !mayWait(threadId) && lock.tryAcquire !== undefined;
  const coming = (async () =>
    triesOnly ? lock.tryAcquire?.(threadId, patience, onLost) : lock.acquire(threadId, patience, onLost))();
  const release = await untilAborted(coming, signal).catch((error: unknown) => {
    coming.then((late) => late?.()).catch(() => {});
    throw error;
  });
  if (release === undefined && triesOnly) return undefined;
  if (typeof release === "function")
    return async () => answered((async () => release())(), { what: "The lock of the thread", signal });
  throw InvalidSettingError.expected(
    `${setting}.${triesOnly ? "tryAcquire" : "acquire"}()`,
    "the function that gives the lock back",
    release,
  );
}

/** The thread that the work around continues only if it can do so at once. */
const impatient = forAllCopies("impatient", () => new AsyncLocalStorage<string>());

/** Work whose runs of this thread are refused with `THREAD_BUSY` if another run of it continues. */
export function withoutWaiting<Result>(threadId: string, work: () => Promise<Result>): Promise<Result> {
  return impatient.run(threadId, work);
}

/** Whether a run of this thread may wait for others. */
export function mayWait(threadId: string): boolean {
  return impatient.getStore() !== threadId;
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
