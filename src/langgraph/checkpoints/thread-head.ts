/**
 * The latest checkpoint of a thread: tells its id without reading messages, and writes only while it is the latest.
 *
 * No method of a checkpointer does either. `PostgresSaver` and `SqliteSaver` have their connection as a field, so what
 * they would write is recorded, and written in one transaction that looks at the latest checkpoint first. All other
 * checkpointers are asked with `getTuple`, and another process can then write between the look and the write.
 */

import { createHash } from "node:crypto";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { answered } from "../../shared/answered.js";
import { isRecord } from "../../shared/is-record.js";

/** LangGraph's types say text, but some checkpointers take a number too. */
export type ThreadId = string | number;

export interface HeadOf {
  /** Reads and writes the thread. */
  readonly saver: BaseCheckpointSaver;
  /** The checkpointer itself, if `saver` is a view of it. */
  readonly target: BaseCheckpointSaver;
  readonly threadId: ThreadId;
  /** The abort of the run. */
  readonly signal: AbortSignal | undefined;
}

/** Contract: calls `put` and `putWrites` of the checkpointer that it gets, and nothing else of it. */
type Write = (saver: BaseCheckpointSaver) => Promise<unknown>;

export interface ThreadHead {
  /** Whether this is the latest checkpoint of the thread. Undefined: whether the thread has none. */
  readonly is: (id: string | undefined) => Promise<boolean>;
  /** Writes if this is the latest checkpoint, and returns whether it was. */
  readonly writeAfter: (id: string | undefined, write: Write) => Promise<boolean>;
}

export function threadHead(thread: HeadOf): ThreadHead {
  return inPostgres(thread) ?? inSqlite(thread) ?? inAnySaver(thread);
}

const LATEST = (table: string, parameter: string): string =>
  `SELECT checkpoint_id FROM ${table} WHERE thread_id = ${parameter} AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC LIMIT 1`;

/** A statement of a checkpointer, with its values. */
type Statement = readonly [text: string, values: readonly unknown[]];

/**
 * A lock of the thread is held from the look to the commit. The server gives it back if this process is silent, so a
 * thread is never locked for longer than these limits.
 */
const LIMITS = "SET LOCAL lock_timeout = '15s'; SET LOCAL idle_in_transaction_session_timeout = '10s'";

interface PostgresClient {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  release(destroy?: boolean): void;
}

function inPostgres({ target, threadId, signal }: HeadOf): ThreadHead | undefined {
  const pool: unknown = Reflect.get(target, "pool");
  const options: unknown = Reflect.get(target, "options");
  if (!isPool(pool) || !isRecord(options) || !writesItself(target, "_dumpBlobs")) return undefined;
  const schema = String(options["schema"]);
  const latest = LATEST(`"${schema}".checkpoints`, "$1");
  const read = async (connection: Pick<PostgresClient, "query">): Promise<string | undefined> => {
    const { rows } = await connection.query(latest, [threadId]);
    return idIn(rows[0]);
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const { add, statements } = recordStatements();
    const recording = { query: async (...given: Statement) => add(given), release: () => {} };
    await write(Object.create(target, { pool: { value: { connect: async () => recording } } }));
    let isGivenUp = false;
    let giveBack = () => {};
    const transaction = async (): Promise<boolean> => {
      const client = await pool.connect();
      if (isGivenUp) {
        client.release();
        return false;
      }
      // A client that is closed cannot commit later, and leaves its place in the pool to others.
      giveBack = () => client.release(true);
      try {
        await client.query(`BEGIN; ${LIMITS}; SELECT pg_advisory_xact_lock(${lockKey(schema, threadId)})`);
        const isLatest = (await read(client)) === id;
        if (isLatest) for (const [text, values] of statements) await client.query(text, values);
        await client.query(isLatest ? "COMMIT" : "ROLLBACK");
        giveBack = () => client.release();
        return isLatest;
      } catch (error) {
        await client.query("ROLLBACK").then(
          () => (giveBack = () => client.release()),
          () => {},
        );
        throw error;
      } finally {
        if (!isGivenUp) giveBack();
      }
    };
    const giveUp = () => {
      isGivenUp = true;
      giveBack();
    };
    return answered(transaction(), { what: "The checkpointer", signal, giveUp });
  };
  return { is: async (id) => (await read(pool)) === id, writeAfter };
}

/** The two 32-bit halves of a hash are one number of 64 bits, which PostgreSQL takes as the key of a lock. */
function lockKey(schema: string, threadId: ThreadId): bigint {
  const hash = createHash("sha256").update(JSON.stringify(["langgraph-tether", schema, String(threadId)]));
  return hash.digest().readBigInt64BE();
}

interface SqliteDatabase {
  prepare(text: string): { run(...values: unknown[]): unknown; get(...values: unknown[]): unknown };
  transaction<Result>(work: () => Result): { immediate(): Result };
}

function inSqlite({ target, threadId }: HeadOf): ThreadHead | undefined {
  const database: unknown = Reflect.get(target, "db");
  if (!isSqlite(database) || !writesItself(target, "migratePendingSends")) return undefined;
  const is = (id: string | undefined) =>
    idIn(database.prepare(LATEST("checkpoints", "?")).get(threadId)) === id;
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const { add, statements } = recordStatements();
    const prepare = (text: string) => ({ run: (...values: unknown[]) => add([text, values]) });
    const recording = { prepare, transaction: (work: unknown) => work };
    await write(Object.create(target, { db: { value: recording }, isSetup: { value: true } }));
    const transaction = database.transaction(() => {
      if (!is(id)) return false;
      for (const [text, values] of statements) database.prepare(text).run(...values);
      return true;
    });
    // Locks the database before it looks.
    return transaction.immediate();
  };
  return { is: async (id) => is(id), writeAfter };
}

/** Keeps what a checkpointer would write. */
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
 * Whether the checkpointer writes with the methods of LangGraph's class, which has a method of this name. A subclass or
 * a wrapper with methods of its own can do more than to write, so it is called as it is.
 */
function writesItself(saver: BaseCheckpointSaver, name: string): boolean {
  let owner: unknown = Object.getPrototypeOf(saver);
  while (isObject(owner) && !Object.hasOwn(owner, "put")) owner = Object.getPrototypeOf(owner);
  if (!isObject(owner) || !Object.hasOwn(owner, name)) return false;
  return saver.put === Reflect.get(owner, "put") && saver.putWrites === Reflect.get(owner, "putWrites");
}

/** For each object that holds threads, and each thread, the end of its last write. */
const lastWrites = new WeakMap<object, Map<ThreadId, Promise<unknown>>>();

/** One write after the other in this process, also from several views of one `MemorySaver`. */
function inAnySaver({ saver, target, threadId, signal }: HeadOf): ThreadHead {
  const storage: unknown = Reflect.get(target, "storage");
  const is = async (id: string | undefined): Promise<boolean> => {
    // Another class can have a field of this name, so the field never decides that a checkpoint is not the latest.
    if (id !== undefined && isRecord(storage) && latestIn(storage[threadId]) === id) return true;
    const tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    return tuple?.checkpoint.id === id;
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const holder = isObject(storage) ? storage : target;
    const ends = lastWrites.get(holder) ?? new Map<ThreadId, Promise<unknown>>();
    lastWrites.set(holder, ends);
    const work = async (): Promise<boolean> => (await is(id)) && (await write(saver).then(() => true));
    const written = (ends.get(threadId) ?? Promise.resolve()).then(work);
    const end = answered(written, { what: "The checkpointer", signal }).catch(() => {});
    ends.set(threadId, end);
    void end.then(() => ends.get(threadId) === end && ends.delete(threadId));
    return written;
  };
  return { is, writeAfter };
}

/** The latest id of a thread in `MemorySaver`, whose `getTuple` would read all messages. */
function latestIn(thread: unknown): string | undefined {
  const checkpoints = isRecord(thread) ? thread[""] : undefined;
  if (!isRecord(checkpoints)) return undefined;
  return Object.keys(checkpoints).reduce((latest, id) => (id > latest ? id : latest), "");
}

function idIn(row: unknown): string | undefined {
  const id = isRecord(row) ? row["checkpoint_id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPool(
  value: unknown,
): value is Pick<PostgresClient, "query"> & { connect(): Promise<PostgresClient> } {
  return isObject(value) && hasMethod(value, "connect") && hasMethod(value, "query");
}

function isSqlite(value: unknown): value is SqliteDatabase {
  return isObject(value) && hasMethod(value, "prepare") && hasMethod(value, "transaction");
}

function hasMethod(value: object, name: string): boolean {
  return typeof Reflect.get(value, name) === "function";
}
