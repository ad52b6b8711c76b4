/** The tables of `PostgresSaver` and `SqliteSaver`, for questions that a checkpointer has no method for. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { prototypeWith } from "../../shared/values.js";
import { originalOf } from "./replace-methods.js";
import { lockKey, type PostgresPool, poolOf, schemaOf, sqliteOf } from "./saver-databases.js";

/** How a checkpointer's tables are queried. Each `?` stands for a value. */
export interface Tables {
  readonly query: (sql: string, values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
  /** The name of the table of checkpoints. */
  readonly checkpoints: string;
  /** The rows of a JSON array of texts. */
  readonly rowsOfArray: string;
  /**
   * Whether the checkpoint of a row of `head` may have something left to do. A checkpoint without certainly has nothing:
   * LangGraph keeps what leads to nodes in channels whose names have a colon or begin with underscores.
   */
  readonly mayGoOn: string;
  /** Whether a process holds the thread's lock. Undefined: the database has no locks. */
  readonly isLocked?: (threadId: string) => Promise<boolean>;
}

/** The tables of a checkpointer. Undefined for another class, and for one that reads in its own way. */
export function tablesOf(saver: BaseCheckpointSaver): Tables | undefined {
  const target = originalOf(saver) as BaseCheckpointSaver;
  if (prototypeWith(target, "list") !== prototypeWith(target, "put")) return undefined;
  const pool = poolOf(target);
  if (pool !== undefined) return tablesInPostgres(pool, schemaOf(target));
  const database = sqliteOf(target);
  if (database === undefined) return undefined;
  const tables = tablesInSqlite(database);
  const setUp: unknown = Reflect.get(target, "setup");
  return {
    ...tables,
    query: (sql, values) => {
      // Before its first use, the file may have no tables.
      if (typeof setUp === "function") Reflect.apply(setUp, target, []);
      return tables.query(sql, values);
    },
  };
}

/** From this version on, a checkpoint itself has what it sends to nodes. Earlier ones left it with their parents. */
const WITH_SENDS = 4;

export function tablesInPostgres(pool: Pick<PostgresPool, "query">, schema: string): Tables {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const query: Tables["query"] = async (sql, values) => {
    let count = 0;
    const numbered = sql.replaceAll("?", () => `$${++count}`);
    return (await pool.query(numbered, [...values])).rows.map(Object);
  };
  return {
    query,
    checkpoints: `${quoted}.checkpoints`,
    rowsOfArray: "SELECT json_array_elements_text(CAST(? AS json))",
    mayGoOn: `CAST(head.checkpoint ->> 'v' AS numeric) < ${WITH_SENDS} OR EXISTS (
      SELECT FROM jsonb_each_text(head.checkpoint -> 'channel_versions') AS channel
      JOIN ${quoted}.checkpoint_blobs AS stored ON stored.thread_id = head.thread_id
        AND stored.checkpoint_ns = head.checkpoint_ns
        AND stored.channel = channel.key AND stored.version = channel.value
      WHERE (strpos(channel.key, ':') > 0 OR left(channel.key, 2) = '__')
        AND stored.type <> 'empty' AND stored.blob IS DISTINCT FROM convert_to('[]', 'UTF8')
    )`,
    isLocked: async (threadId) => {
      // The server shows the two halves of a lock's key.
      const key = BigInt.asUintN(64, lockKey("lock", "run", threadId));
      const rows = await query(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND classid = CAST(CAST(? AS bigint) AS oid) AND objid = CAST(CAST(? AS bigint) AS oid) LIMIT 1`,
        [String(key >> 32n), String(key & 0xffffffffn)],
      );
      return rows.length > 0;
    },
  };
}

/** The part of `better-sqlite3` that is used. */
interface SqliteTables {
  prepare(sql: string): { all(...values: unknown[]): unknown[] };
}

export function tablesInSqlite(database: SqliteTables): Tables {
  const stored = "CAST(head.checkpoint AS TEXT)";
  return {
    query: async (sql, values) =>
      database
        .prepare(sql)
        .all(...values)
        .map(Object),
    checkpoints: "checkpoints",
    rowsOfArray: "SELECT value FROM json_each(?)",
    // A serializer of the user's own can store another form.
    mayGoOn: `CASE WHEN json_valid(${stored}) THEN json_extract(${stored}, '$.v') < ${WITH_SENDS} OR EXISTS (
      SELECT 1 FROM json_each(${stored}, '$.channel_values')
      WHERE (instr(key, ':') > 0 OR substr(key, 1, 2) = '__') AND value IS NOT '[]'
    ) ELSE 1 END`,
  };
}
