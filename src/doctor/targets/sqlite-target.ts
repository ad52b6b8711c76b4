/** The tables of `SqliteSaver`. */

import { open, readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { type Database, graphOption, storeOfDatabase } from "./database.js";
import {
  importPackage,
  type OpenContext,
  optionOf,
  reasonOf,
  requireDependency,
  type Target,
  UsageError,
} from "./target.js";

const SAVER = "@langchain/langgraph-checkpoint-sqlite";
/** How the first bytes of each SQLite file read. */
const MAGIC = "SQLite format 3";

/** The part of `better-sqlite3` that is used. */
interface Sqlite {
  prepare(sql: string): { all(...values: unknown[]): unknown[]; get(): unknown };
  close(): void;
}

export const sqliteTarget: Target = {
  option: optionOf("--sqlite <FILE>", "An SQLite database. Needs @langchain/langgraph-checkpoint-sqlite."),
  further: [graphOption],
  canWrite: true,
  open: async (place, context) =>
    storeOfDatabase(await openSqlite(place["sqlite"], context), place["graph"], context),
  fromReceipt: (target) =>
    target.startsWith("sqlite:") ? { sqlite: target.slice("sqlite:".length) } : undefined,
};

async function openSqlite(place: string, { canWrite, folder }: OpenContext): Promise<Database> {
  const path = resolve(folder, place);
  await assertDatabase(path, place);
  const { SqliteSaver } = await importPackage<{ SqliteSaver: new (db: unknown) => BaseCheckpointSaver }>(
    SAVER,
    { folder, why: "Reading an SQLite file" },
  );
  const BetterSqlite = requireDependency(SAVER, "better-sqlite3", folder) as SqliteClass;
  let db: Sqlite;
  try {
    db = canWrite
      ? new BetterSqlite(path, { fileMustExist: true })
      : await openForReading(BetterSqlite, path, place);
  } catch (error) {
    if (UsageError.isInstance(error)) throw error;
    if (isNotBuilt(error))
      throw new UsageError(
        `The package better-sqlite3 is not built for Node.js ${process.version}, which runs this program. Build it: npm rebuild better-sqlite3`,
      );
    throw new UsageError(`The SQLite file ${place} cannot be opened: ${reasonOf(error)}`);
  }
  try {
    assertTables(db, place);
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    target: `sqlite:${place}`,
    saver: new SqliteSaver(withoutSetup(db)),
    tables: {
      query: async (sql: string, values: readonly unknown[]) =>
        db
          .prepare(sql)
          .all(...values)
          .map(Object),
      checkpoints: "checkpoints",
      rowsOfArray: "SELECT value FROM json_each(?)",
    },
    close: async () => db.close(),
  };
}

function assertTables(db: Sqlite, place: string): void {
  try {
    const rows = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const names = rows.map((row) => Object(row).name);
    if (!names.includes("checkpoints") || !names.includes("writes"))
      throw new UsageError(
        `The SQLite file ${place} has no tables \`checkpoints\` and \`writes\`, so no LangGraph checkpointer has written to it.`,
      );
    // Another program can have tables of these names. Their columns are then missing.
    db.prepare("SELECT thread_id, checkpoint_ns, checkpoint_id, metadata FROM checkpoints");
  } catch (error) {
    if (UsageError.isInstance(error)) throw error;
    throw new UsageError(`The SQLite file ${place} cannot be read: ${reasonOf(error)}`);
  }
}

type SqliteClass = new (source: string | Uint8Array, options: object) => Sqlite;

/**
 * SQLite reads a file in WAL mode only if it can make files beside it, or if they are there. If it cannot, such as in a
 * folder of somebody else, and nothing is left in the WAL, the file is read into memory.
 */
async function openForReading(BetterSqlite: SqliteClass, path: string, place: string): Promise<Sqlite> {
  const db = new BetterSqlite(path, { readonly: true, fileMustExist: true });
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
    return new BetterSqlite(bytes, { readonly: true });
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
function withoutSetup(db: Sqlite): Sqlite {
  return new Proxy(db, {
    get(target, name) {
      if (name === "exec" || name === "pragma") return () => undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
