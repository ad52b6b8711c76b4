/** The tables of `SqliteSaver`. */

import { open, readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { parseJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import type { ThreadSizes } from "../thread-store.js";
import type { OpenDatabase } from "./open-target.js";
import {
  type Head,
  importPackage,
  reasonOf,
  requireDependency,
  type ThreadTable,
  UsageError,
} from "./target.js";

const SAVER = "@langchain/langgraph-checkpoint-sqlite";
/** How the first bytes of each SQLite file read. */
const MAGIC = "SQLite format 3";

/** The part of `better-sqlite3` that is used. */
interface Database {
  prepare(sql: string): { all(...values: unknown[]): unknown[]; get(...values: unknown[]): unknown };
  close(): void;
}

export const openSqlite: OpenDatabase = async ({ place, canWrite, folder }) => {
  const path = resolve(folder, place);
  await assertDatabase(path, place);
  const why = "Reading an SQLite file";
  const { SqliteSaver } = await importPackage<{ SqliteSaver: new (db: unknown) => BaseCheckpointSaver }>(
    SAVER,
    {
      folder,
      why,
    },
  );
  const Database = requireDependency(SAVER, "better-sqlite3", folder) as DatabaseClass;
  let db: Database;
  try {
    db = canWrite ? new Database(path, { fileMustExist: true }) : await openForReading(Database, path, place);
  } catch (error) {
    if (UsageError.isInstance(error)) throw error;
    if (isNotBuilt(error))
      throw new UsageError(
        `The package better-sqlite3 is not built for Node.js ${process.version}, which runs this program. Build it: npm rebuild better-sqlite3`,
      );
    throw new UsageError(`The SQLite file ${place} cannot be opened: ${reasonOf(error)}`);
  }
  try {
    const rows = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const names = rows.map((row) => Object(row).name);
    if (!names.includes("checkpoints") || !names.includes("writes"))
      throw new UsageError(
        `The SQLite file ${place} has no tables \`checkpoints\` and \`writes\`, so no LangGraph checkpointer has written to it.`,
      );
    return {
      target: `sqlite:${place}`,
      saver: new SqliteSaver(withoutSetup(db)),
      // Another program can have tables of these names. Their columns are then missing.
      table: createTable(db),
      close: async () => db.close(),
    };
  } catch (error) {
    db.close();
    if (UsageError.isInstance(error)) throw error;
    throw new UsageError(`The SQLite file ${place} cannot be read: ${reasonOf(error)}`);
  }
};

type DatabaseClass = new (source: string | Uint8Array, options: object) => Database;

/**
 * SQLite reads a file in WAL mode only if it can make files beside it, or if they are there. If it cannot, such as in a
 * folder of somebody else, and nothing is left in the WAL, the file is read into memory.
 */
async function openForReading(Database: DatabaseClass, path: string, place: string): Promise<Database> {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    db.prepare("SELECT name FROM sqlite_master").get();
    return db;
  } catch (error) {
    db.close();
    const bytes = UNOPENED.has(Object(error).code) ? await readFile(path) : undefined;
    if (bytes?.[WRITE_VERSION] !== IN_WAL_MODE) throw error;
    const { size } = await stat(`${path}-wal`).catch(() => ({ size: 0 }));
    if (size > 0)
      throw new UsageError(
        `The SQLite file ${place} has its latest changes in ${place}-wal, and SQLite cannot read them, because this user may not write in their folder. Copy both files into a folder of your own, and name that copy.`,
      );
    bytes.fill(0x01, WRITE_VERSION, WRITE_VERSION + 2);
    return new Database(bytes, { readonly: true });
  }
}

const UNOPENED: ReadonlySet<unknown> = new Set(["SQLITE_READONLY_DIRECTORY", "SQLITE_CANTOPEN"]);
/** The bytes of the header that say which version may write and read the file: 1 without WAL, 2 with it. */
const WRITE_VERSION = 18;
const IN_WAL_MODE = 2;

/** It is a native package. One that was installed with another version of Node.js cannot be loaded. */
function isNotBuilt(error: unknown): boolean {
  const { code, message } = Object(error);
  return code === "ERR_DLOPEN_FAILED" || /bindings file|NODE_MODULE_VERSION/.test(String(message));
}

async function assertDatabase(path: string, place: string): Promise<void> {
  const file = await open(path).catch((error: unknown) => {
    throw new UsageError(
      Object(error).code === "ENOENT"
        ? `There is no file ${place}.`
        : `The file ${place} cannot be read: ${reasonOf(error)}`,
    );
  });
  try {
    const { buffer } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    if (buffer.toString("latin1") !== MAGIC)
      throw new UsageError(`The file ${place} is not an SQLite database.`);
  } catch (error) {
    throw UsageError.isInstance(error)
      ? error
      : new UsageError(`The file ${place} cannot be read: ${reasonOf(error)}`);
  } finally {
    await file.close();
  }
}

/** The checkpointer creates its tables and changes the journal mode when it is first used. The tables are there. */
function withoutSetup(db: Database): Database {
  return new Proxy(db, {
    get(target, name) {
      if (name === "exec" || name === "pragma") return () => undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function createTable(db: Database): ThreadTable {
  const heads = db.prepare(`
    SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS checkpoint_id FROM checkpoints
    WHERE (thread_id, checkpoint_ns) > (?, ?)
    GROUP BY thread_id, checkpoint_ns ORDER BY thread_id, checkpoint_ns LIMIT ?`);
  const headsOfOne = db.prepare(`
    SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS checkpoint_id FROM checkpoints WHERE thread_id = ?
    GROUP BY thread_id, checkpoint_ns ORDER BY checkpoint_ns`);
  // SQLite takes the other columns from the row with the maximum.
  const recent = db.prepare(`
    SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS checkpoint_id, CAST(metadata AS TEXT) AS metadata
    FROM checkpoints WHERE checkpoint_ns = '' AND (? IS NULL OR thread_id IN (SELECT value FROM json_each(?)))
    GROUP BY thread_id ORDER BY max(checkpoint_id) DESC LIMIT ? OFFSET ?`);
  const head = db.prepare(
    "SELECT max(checkpoint_id) AS id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?",
  );
  const metadata = db.prepare(
    "SELECT CAST(metadata AS TEXT) AS text FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
  );
  const measures = createMeasures(db);
  return {
    heads: async (after, count, threadIds) => {
      if (threadIds === undefined)
        return heads.all(after?.threadId ?? "", after?.namespace ?? "", count).map(toHead);
      // The threads that somebody names are few, so they are one page.
      return after === undefined
        ? [...new Set(threadIds)].sort().flatMap((id) => headsOfOne.all(id).map(toHead))
        : [];
    },
    recent: async (offset, count, threadIds) => {
      const ids = threadIds === undefined ? null : JSON.stringify(threadIds);
      const rows = recent.all(ids, ids, count, offset);
      return rows.map((row) => ({ ...toHead(row), metadata: metadataIn(Object(row).metadata) }));
    },
    headOf: async ({ threadId, namespace }) => Object(head.get(threadId, namespace)).id ?? undefined,
    metadataOf: async ({ threadId, namespace, checkpointId }) =>
      metadataIn(Object(metadata.get(threadId, namespace, checkpointId)).text),
    measure: async (threadId) => measures(threadId),
  };
}

function metadataIn(text: unknown): Readonly<Record<string, unknown>> {
  const read = parseJson(String(text));
  return isRecord(read) ? read : {};
}

function toHead(row: unknown): Head {
  const { thread_id, checkpoint_ns, checkpoint_id } = Object(row);
  return { threadId: thread_id, namespace: checkpoint_ns, checkpointId: checkpoint_id };
}

function createMeasures(db: Database): (threadId: string) => ThreadSizes {
  const total = db.prepare(`
    SELECT count(*) AS count, coalesce(sum(length(checkpoint) + length(metadata)), 0) AS bytes
    FROM checkpoints WHERE thread_id = ?`);
  const writes = db.prepare(`
    SELECT channel, sum(length(value)) AS bytes FROM writes WHERE thread_id = ? GROUP BY channel`);
  const channels = db.prepare(`
    SELECT each.key AS channel, sum(length(CAST(each.value AS BLOB))) AS bytes
    FROM checkpoints, json_each(CAST(checkpoint AS TEXT), '$.channel_values') AS each
    WHERE thread_id = ? GROUP BY each.key`);
  const latest = db.prepare(`
    SELECT length(CAST(json_extract(CAST(checkpoint AS TEXT), '$.channel_values.messages') AS BLOB)) AS bytes
    FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1`);
  return (threadId) => {
    const { count, bytes } = Object(total.get(threadId));
    const written = writes.all(threadId).map(Object);
    const stored: Record<string, number> = {};
    for (const row of [...channels.all(threadId).map(Object), ...written])
      stored[row.channel] = (stored[row.channel] ?? 0) + (row.bytes ?? 0);
    return {
      checkpoints: count,
      totalBytes: bytes + written.reduce((sum, row) => sum + (row.bytes ?? 0), 0),
      messagesBytes: stored["messages"] ?? 0,
      latestMessagesBytes: Object(latest.get(threadId)).bytes ?? 0,
      channels: stored,
    };
  };
}
