/**
 * A thread's latest checkpoint: tells its id without reading messages, and writes only while it is the latest.
 *
 * No checkpointer method does either. `PostgresSaver` and `SqliteSaver` have their connection as a field. So what they
 * would write is recorded, and written in one transaction that first checks the latest checkpoint. Other checkpointers
 * are asked with `getTuple`, and another process can write between the check and the write.
 */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { madeOnce, textIn } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";
import { answered } from "../../shared/waiting.js";
import { checkpointsIn, isLastAdded, listingOf, threadsIn } from "./memory-listing.js";
import { originalOf } from "./replace-methods.js";
import {
  closing,
  lockKey,
  type PostgresClient,
  type PostgresPool,
  poolOf,
  type SqliteDatabase,
  schemaOf,
  sqliteOf,
  withPool,
} from "./saver-databases.js";

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
  const database = sqliteOf(target);
  if (database !== undefined) return inSqlite(target, database, threadId);
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

function inPostgres(
  target: BaseCheckpointSaver,
  pool: PostgresPool,
  threadId: ThreadId,
  signal: AbortSignal | undefined,
): ThreadHead {
  const schema = schemaOf(target);
  const latest = LATEST(`"${schema}".checkpoints`, "$1");
  const read = async (connection: Pick<PostgresClient, "query">): Promise<string | undefined> => {
    const { rows } = await connection.query(latest, [threadId]);
    return textIn(rows[0], "checkpoint_id");
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const { add, statements } = recordStatements();
    const recording = { query: async (...given: Statement) => add(given), release: () => {} };
    await write(withPool(target, { connect: async () => recording }));
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

/** For each object that holds threads, and each thread, the end of its last write. */
const lastWrites = forAllCopies("last-writes", () => new WeakMap<object, Map<ThreadId, Promise<unknown>>>());

/** One write after another in this process, even through several views of one `MemorySaver`. */
function inAnySaver(saver: BaseCheckpointSaver, target: object, threadId: ThreadId): ThreadHead {
  const is = async (id: string | undefined): Promise<boolean> => {
    // Another class can have a field with this name, so the field alone never decides that a checkpoint is not the
    // latest.
    const checkpoints = checkpointsIn(target, threadId);
    if (checkpoints !== undefined && id !== undefined && isLastAdded(checkpoints, id)) return true;
    const tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    return tuple?.checkpoint.id === id;
  };
  const writeAfter: ThreadHead["writeAfter"] = async (id, write) => {
    const ends = madeOnce(
      lastWrites,
      threadsIn(target) ?? target,
      () => new Map<ThreadId, Promise<unknown>>(),
    );
    const written = (ends.get(threadId) ?? Promise.resolve()).then(async () => {
      if (!(await is(id))) return false;
      const latest = await write(saver);
      const listing = listingOf(target, threadId);
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
