/** The tables of `SqliteSaver`. */

import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { replaceMethods } from "../../threads/langgraph/replace-methods.js";
import { tablesInSqlite } from "../../threads/langgraph/tables.js";
import { type Database, graphOption, storeOfDatabase } from "./database.js";
import {
  importPackage,
  type OpenContext,
  optionOf,
  reasonOf,
  requireDependency,
  type TargetKind,
  UsageError,
} from "./target.js";

const SAVER = "@langchain/langgraph-checkpoint-sqlite";

/** The part of `better-sqlite3` that is used. */
interface Sqlite {
  prepare(sql: string): { all(...values: unknown[]): unknown[]; get(): unknown };
  exec(sql: string): void;
  pragma(sql: string): void;
  close(): void;
}

export const sqliteTarget: TargetKind = {
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
  if (!existsSync(path)) throw new UsageError(`There is no file ${place}.`);
  const { SqliteSaver } = await importPackage<{ SqliteSaver: new (db: unknown) => BaseCheckpointSaver }>(
    SAVER,
    { folder, why: "Reading an SQLite file" },
  );
  const BetterSqlite = requireDependency(SAVER, "better-sqlite3", folder) as SqliteClass;
  let db: Sqlite | undefined;
  try {
    db = canWrite ? new BetterSqlite(path, EXISTING) : await openForReading(BetterSqlite, path, place);
    assertTables(db, place);
  } catch (error) {
    db?.close();
    throw UsageError.isInstance(error) ? error : new UsageError(describeFailure(error, place));
  }
  const opened = db;
  return {
    target: `sqlite:${place}`,
    // On first use, the checkpointer creates its tables and changes the journal mode. The tables exist.
    saver: new SqliteSaver(replaceMethods(opened, { exec: () => {}, pragma: () => {} })),
    tables: tablesInSqlite(opened),
    close: async () => opened.close(),
  };
}

const EXISTING = { fileMustExist: true };

function assertTables(db: Sqlite, place: string): void {
  const rows = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const names = rows.map((row) => Object(row).name);
  if (!names.includes("checkpoints") || !names.includes("writes"))
    throw new UsageError(
      `The SQLite file ${place} has no tables \`checkpoints\` and \`writes\`, so no LangGraph checkpointer has written to it.`,
    );
  // Another program can have tables with these names, but without their columns.
  db.prepare("SELECT thread_id, checkpoint_ns, checkpoint_id, metadata FROM checkpoints");
}

function describeFailure(error: unknown, place: string): string {
  const { code, message } = Object(error);
  if (code === "SQLITE_NOTADB") return `The file ${place} is not an SQLite database.`;
  // It is a native package. It cannot be loaded if another Node.js version installed it.
  if (code === "ERR_DLOPEN_FAILED" || /bindings file|NODE_MODULE_VERSION/.test(String(message)))
    return `The package better-sqlite3 is not built for Node.js ${process.version}, which runs this program. Build it: npm rebuild better-sqlite3`;
  return `The SQLite file ${place} cannot be read: ${reasonOf(error)}`;
}

type SqliteClass = new (source: string | Uint8Array, options: object) => Sqlite;

/**
 * SQLite reads a file in WAL mode only if it can make files beside it, or if they exist. If it cannot, such as in
 * another user's folder, and nothing is left in the WAL, the file is read into memory.
 */
async function openForReading(BetterSqlite: SqliteClass, path: string, place: string): Promise<Sqlite> {
  const db = new BetterSqlite(path, { ...EXISTING, readonly: true });
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
/** The header bytes that say which version may write and read the file: 1 without WAL, 2 with it. */
const WRITE_VERSION = 18;
const IN_WAL_MODE = 2;
