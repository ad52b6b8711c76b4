/**
 * A thread's latest checkpoint: tells its id without reading messages, and writes only while it is the latest.
 *
 * No checkpointer method does either. `PostgresSaver` and `SqliteSaver` have their connection as a field. So what they
 * would write is recorded, and written in one transaction that first checks the latest checkpoint. Other checkpointers
 * are asked with `getTuple`, and another process can write between the check and the write.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { hasMethods, isRecord, madeOnce, prototypeWith, textIn } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";
import { answered } from "../../shared/waiting.js";
import { originalOf, replaceMethods } from "../langgraph/replace-methods.js";
import { lockKey } from "./thread-lock.js";

/** LangGraph's types say text, but some checkpointers also take a number. */
export type ThreadId = string | number;

/** Contract: calls only `put` and `putWrites` of the given checkpointer. Resolves to the new checkpoint's id. */
export type Write = (saver: BaseCheckpointSaver) => Promise<string>;

interface ThreadHead {
  /** Whether this is the thread's latest checkpoint. Undefined: whether the thread has none. */
  readonly is: (id: string | undefined) => Promise<boolean>;
  /** Writes if this is the latest checkpoint, and returns whether it was. */
  readonly writeAfter: (id: string | undefined, write: Write) => Promise<boolean>;
}

/**
 * @param saver The checkpointer, or a view of it with other methods. Contract: abandons what does not answer.
 * @param signal The run's abort.
 */
export function threadHead(
  saver: BaseCheckpointSaver,
  threadId: ThreadId,
  signal: AbortSignal | undefined,
): ThreadHead {
  const target = originalOf(saver) as BaseCheckpointSaver;
  const pool = poolOf(target);
  if (pool !== undefined) return inPostgres(target, pool, threadId, signal);
  const database: unknown = Reflect.get(target, "db");
  if (isSqlite(database) && writesItself(target, "migratePendingSends"))
    return inSqlite(target, database, threadId);
  return inAnySaver(saver, target, threadId);
}

const LATEST = (table: string, parameter: string): string =>
  `SELECT checkpoint_id FROM ${table} WHERE thread_id = ${parameter} AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC LIMIT 1`;

/** A checkpointer's statement, with its values. */
type Statement = readonly [text: string, values: readonly unknown[]];

/**
 * The thread is locked from the check to the commit. The server releases the lock if this process is silent, so no
 * thread stays locked for longer than these limits.
 */
const LIMITS = "SET LOCAL lock_timeout = '15s'; SET LOCAL idle_in_transaction_session_timeout = '10s'";

interface PostgresClient {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  release(destroy?: boolean): void;
}

interface PostgresPool extends Pick<PostgresClient, "query"> {
  connect(): Promise<PostgresClient>;
}

function inPostgres(
  target: BaseCheckpointSaver,
  pool: PostgresPool,
  threadId: ThreadId,
  signal: AbortSignal | undefined,
): ThreadHead {
  const schema = String(Reflect.get(Object(Reflect.get(target, "options")), "schema"));
  const latest = LATEST(`"${schema}".checkpoints`, "$1");
  const read = async (connection: Pick<PostgresClient, "query">): Promise<string | undefined> => {
    const { rows } = await connection.query(latest, [threadId]);
    return textIn(rows[0], "checkpoint_id");
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const { add, statements } = recordStatements();
    const recording = { query: async (...given: Statement) => add(given), release: () => {} };
    await write(viewOf(target, { pool: { connect: async () => recording } }));
    const { connect, giveUp } = closing(pool);
    const transaction = async (): Promise<boolean> => {
      const client = await connect();
      try {
        await client.query(
          `BEGIN; ${LIMITS}; SELECT pg_advisory_xact_lock(${lockKey(schema, String(threadId))})`,
        );
        const isLatest = (await read(client)) === id;
        if (isLatest) for (const [text, values] of statements) await client.query(text, values);
        await client.query(isLatest ? "COMMIT" : "ROLLBACK");
        return isLatest;
      } catch (error) {
        await client.query("ROLLBACK").catch(() => {});
        throw error;
      } finally {
        client.release();
      }
    };
    return answered(transaction(), { what: "The checkpointer", signal, giveUp });
  };
  return { is: async (id) => (await read(pool)) === id, writeAfter };
}

/**
 * Closes pool clients that nobody waits for any more. They cannot commit later, and free their places in the pool. A
 * client that could not roll back is also closed, because its connection does not answer.
 */
function closing(pool: PostgresPool) {
  let isGivenUp = false;
  const lent = new Set<PostgresClient>();
  const giveBack = (client: PostgresClient, isBroken: boolean): void => {
    if (lent.delete(client)) client.release(isBroken);
  };
  const connect = async (): Promise<PostgresClient> => {
    const client = await pool.connect();
    lent.add(client);
    if (isGivenUp) {
      giveBack(client, false);
      throw new Error("Nobody waits for this client any more.");
    }
    let isBroken = false;
    const query: PostgresClient["query"] = async (text, values) => {
      try {
        return await client.query(text, values);
      } catch (error) {
        isBroken ||= text === "ROLLBACK";
        throw error;
      }
    };
    return { query, release: () => giveBack(client, isBroken) };
  };
  const giveUp = (): void => {
    isGivenUp = true;
    for (const client of lent) giveBack(client, true);
  };
  return { connect, giveUp };
}

/**
 * A view of a checkpointer that abandons what does not answer, so that no thread waits for ever. If a write of
 * `PostgresSaver` is abandoned, its connection is closed.
 */
export function boundedSaver(
  saver: BaseCheckpointSaver,
  signal: AbortSignal | undefined,
): BaseCheckpointSaver {
  const wait = { what: "The checkpointer", signal };
  const pool = poolOf(saver);
  const bounded = <Result>(write: (own: BaseCheckpointSaver) => Promise<Result>): Promise<Result> => {
    if (pool === undefined) return answered(write(saver), wait);
    const { connect, giveUp } = closing(pool);
    return answered(write(viewOf(saver, { pool: { connect } })), { ...wait, giveUp });
  };
  return replaceMethods(saver, {
    getTuple: (config) => answered(readTuple(saver, config), wait),
    // Savers older than the delta channel do not have it.
    ...(typeof saver.getDeltaChannelHistory === "function" && {
      getDeltaChannelHistory: (...given) => answered(saver.getDeltaChannelHistory(...given), wait),
    }),
    put: (...given) => bounded((own) => own.put(...given)),
    putWrites: (...given) => bounded((own) => own.putWrites(...given)),
  });
}

interface SqliteDatabase {
  prepare(text: string): { run(...values: unknown[]): unknown; get(...values: unknown[]): unknown };
  transaction<Result>(work: () => Result): { immediate(): Result };
}

function inSqlite(target: BaseCheckpointSaver, database: SqliteDatabase, threadId: ThreadId): ThreadHead {
  const latest = LATEST("checkpoints", "?");
  const is = (id: string | undefined) =>
    textIn(database.prepare(latest).get(threadId), "checkpoint_id") === id;
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const { add, statements } = recordStatements();
    const prepare = (text: string) => ({ run: (...values: unknown[]) => add([text, values]) });
    const recording = { prepare, transaction: (work: unknown) => work };
    await write(viewOf(target, { db: recording, isSetup: true }));
    const transaction = database.transaction(() => {
      if (!is(id)) return false;
      for (const [text, values] of statements) database.prepare(text).run(...values);
      return true;
    });
    // Locks the database before it checks.
    return transaction.immediate();
  };
  return { is: async (id) => is(id), writeAfter };
}

/** Records what a checkpointer would write. */
function recordStatements() {
  const statements: Statement[] = [];
  const add = ([text, values = []]: Statement): void => {
    if (/^\s*(BEGIN|COMMIT|ROLLBACK)/i.test(text)) return;
    if (!/^\s*INSERT/i.test(text)) throw new Error(`Expected a checkpointer to write only, got \`${text}\`.`);
    statements.push([text, values]);
  };
  return { add, statements };
}

/**
 * Whether the checkpointer writes with the methods of LangGraph's class, which has a method with this name. A subclass
 * or wrapper with its own methods may do more than write, so it is called as it is.
 */
function writesItself(saver: BaseCheckpointSaver, name: string): boolean {
  const owner = prototypeWith(saver, "put");
  if (owner === undefined || !Object.hasOwn(owner, name)) return false;
  return saver.put === owner.put && saver.putWrites === owner.putWrites;
}

/** For each object that holds threads, and each thread, the end of its last write. */
const lastWrites = forAllCopies("last-writes", () => new WeakMap<object, Map<ThreadId, Promise<unknown>>>());

/** One write after another in this process, even through several views of one `MemorySaver`. */
function inAnySaver(saver: BaseCheckpointSaver, target: object, threadId: ThreadId): ThreadHead {
  const storage: unknown = Reflect.get(target, "storage");
  const is = async (id: string | undefined): Promise<boolean> => {
    // Another class can have a field with this name, so the field alone never decides that a checkpoint is not the
    // latest.
    const checkpoints = checkpointsIn(storage, threadId);
    if (checkpoints !== undefined && id !== undefined && isLastAdded(checkpoints, id)) return true;
    const tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    return tuple?.checkpoint.id === id;
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const holder = isRecord(storage) ? storage : target;
    const ends = madeOnce(lastWrites, holder, () => new Map<ThreadId, Promise<unknown>>());
    const written = (ends.get(threadId) ?? Promise.resolve()).then(async () => {
      if (!(await is(id))) return false;
      const latest = await write(saver);
      const listing = listingOf(storage, threadId);
      if (listing !== undefined) listing.latest = latest;
      return true;
    });
    const end = written.catch(() => {});
    ends.set(threadId, end);
    void end.then(() => ends.get(threadId) === end && ends.delete(threadId));
    return written;
  };
  return { is, writeAfter };
}

/** A thread's checkpoints in a `MemorySaver`, by id. */
function checkpointsIn(storage: unknown, threadId: ThreadId): object | undefined {
  const thread = isRecord(storage) ? storage[threadId] : undefined;
  const checkpoints = isRecord(thread) ? thread[""] : undefined;
  return isRecord(checkpoints) ? checkpoints : undefined;
}

/**
 * What a listing of checkpoints found, and what this process has written since. A `MemorySaver` can only list all of a
 * thread's checkpoints, and a run checks before each write. So a long thread's listing is reused for ten times as long
 * as it took.
 */
interface Listing {
  latest: string | undefined;
  /** When it was made, from `performance.now()`. */
  since: number;
  /** For how many milliseconds it is reused. */
  readonly lasts: number;
}

/** By the object that holds a thread's checkpoints. */
const listings = forAllCopies("listings", () => new WeakMap<object, Listing>());

function listingOf(storage: unknown, threadId: ThreadId): Listing | undefined {
  const checkpoints = checkpointsIn(storage, threadId);
  return checkpoints && listings.get(checkpoints);
}

/** At least this many checkpoints are listed in a millisecond. */
const LISTED_IN_A_MILLISECOND = 5_000;

/**
 * Whether this is the last id added to a thread in `MemorySaver`, whose `getTuple` would read all messages. The last
 * added checkpoint is the latest, because a run begins after the latest one and checks before each write.
 */
function isLastAdded(checkpoints: object, id: string): boolean {
  const known = listings.get(checkpoints);
  const since = performance.now();
  if (known?.latest === id && since < known.since + known.lasts) return true;
  const ids = Object.keys(checkpoints);
  const latest = ids.at(-1);
  listings.set(checkpoints, { latest, since, lasts: 10 * Math.floor(ids.length / LISTED_IN_A_MILLISECOND) });
  return latest === id;
}

/** Reads a checkpoint. To find the latest, a `MemorySaver` lists the whole thread. */
async function readTuple(
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
): Promise<CheckpointTuple | undefined> {
  const { thread_id, checkpoint_ns = "", checkpoint_id } = { ...config.configurable };
  const isOfLatest = checkpoint_ns === "" && checkpoint_id === undefined;
  const listing = isOfLatest ? listingOf(Reflect.get(originalOf(saver), "storage"), thread_id) : undefined;
  const [before, since] = [listing?.latest, performance.now()];
  const tuple = await saver.getTuple(config);
  // What was written meanwhile is later than what was read.
  if (listing !== undefined && listing.latest === before)
    Object.assign(listing, { latest: tuple?.checkpoint.id, since });
  return tuple;
}

function poolOf(saver: BaseCheckpointSaver): PostgresPool | undefined {
  const pool: unknown = Reflect.get(saver, "pool");
  const isPool = hasMethods(pool, "connect", "query") && writesItself(saver, "_dumpBlobs");
  return isPool ? (pool as PostgresPool) : undefined;
}

function isSqlite(value: unknown): value is SqliteDatabase {
  return hasMethods(value, "prepare", "transaction");
}
