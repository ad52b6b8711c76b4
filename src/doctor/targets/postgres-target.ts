/** The tables of `PostgresSaver`. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { isRecord } from "../../shared/values.js";
import type { ThreadSizes } from "../thread-store.js";
import type { OpenDatabase } from "./open-target.js";
import {
  type Head,
  hideSecrets,
  importPackage,
  reasonOf,
  requireDependency,
  safeAddress,
  type ThreadTable,
  UsageError,
} from "./target.js";

const SAVER = "@langchain/langgraph-checkpoint-postgres";
const TIMEOUT_MS = 15_000;

/** The part of a pool of `pg` that is used. */
interface Pool {
  query(sql: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  on(event: "error", listener: () => void): unknown;
  on(event: "connect", listener: (client: Pick<Pool, "on">) => void): unknown;
  end(): Promise<void>;
}

type Saver = new (pool: Pool, serde: undefined, options: { schema: string }) => BaseCheckpointSaver;

export const openPostgres: OpenDatabase = async ({
  place,
  schema = "public",
  canWrite,
  folder,
  concurrency,
}) => {
  if (!URL.canParse(place) || !/^postgres(?:ql)?:$/.test(new URL(place).protocol))
    throw new UsageError(
      "Expected --postgres to be an address such as postgresql://user@localhost:5432/database.",
    );
  const { PostgresSaver } = await importPackage<{ PostgresSaver: Saver }>(SAVER, {
    folder,
    why: "Reading a PostgreSQL database",
  });
  const { Pool } = requireDependency(SAVER, "pg", folder) as { Pool: new (options: object) => Pool };
  const target = safeAddress(place);
  const hide = hideSecrets(place);
  const connect = async (settings: object): Promise<Pool> => {
    const pool = new Pool({
      connectionString: place,
      max: concurrency + 1,
      connectionTimeoutMillis: TIMEOUT_MS,
      keepAlive: true,
      ...settings,
    });
    // A lost connection would end the process, whether it is used or not. Its next query fails with the reason.
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    try {
      await assertTables(pool, schema, target);
      return pool;
    } catch (error) {
      await pool.end().catch(() => {});
      throw error;
    }
  };
  // The database itself then refuses every write. A connection pooler can refuse the setting; what is read is the same.
  const settings = canWrite ? {} : { options: "-c default_transaction_read_only=on" };
  const pool = await connect(settings)
    .catch((error: unknown) => {
      if (/unsupported startup parameter/i.test(reasonOf(error))) return connect({});
      throw error;
    })
    .catch((error: unknown): never => {
      if (UsageError.isInstance(error)) throw error;
      throw new UsageError(`The database ${target} cannot be opened: ${hide(reasonOf(firstOf(error)))}`);
    });
  return {
    target: schema === "public" ? target : `${target} (schema ${schema})`,
    saver: new PostgresSaver(pool, undefined, { schema }),
    table: createTable(pool, quoted(schema)),
    hide,
    close: () => pool.end(),
  };
};

/** A host with several addresses fails with one error for each. */
function firstOf(error: unknown): unknown {
  const errors: unknown = Object(error).errors;
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : error;
}

async function assertTables(pool: Pool, schema: string, target: string): Promise<void> {
  const { rows } = await pool.query(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 AND table_name LIKE 'checkpoint%'",
    [schema],
  );
  const found = rows.map((row) => row["table_name"]);
  if (["checkpoints", "checkpoint_blobs", "checkpoint_writes"].every((name) => found.includes(name))) return;
  const others = await pool.query(
    "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_name = 'checkpoint_blobs' ORDER BY 1",
  );
  const names = others.rows.map((row) => row["table_schema"]);
  const hint = names.length === 0 ? "" : ` They are in ${names.join(", ")}: use --schema ${names[0]}.`;
  throw new UsageError(`The schema ${schema} of ${target} has no tables of a LangGraph checkpointer.${hint}`);
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function createTable(pool: Pool, schema: string): ThreadTable {
  const heads = `SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS checkpoint_id FROM ${schema}.checkpoints`;
  const tail = "GROUP BY thread_id, checkpoint_ns ORDER BY thread_id, checkpoint_ns LIMIT";
  return {
    heads: async (after, count, threadIds) => {
      const values: unknown[] = [count];
      const wheres: string[] = [];
      if (after !== undefined)
        wheres.push(
          `(thread_id, checkpoint_ns) > ($${values.push(after.threadId)}, $${values.push(after.namespace)})`,
        );
      if (threadIds !== undefined) wheres.push(`thread_id = ANY($${values.push([...threadIds])})`);
      const where = wheres.length === 0 ? "" : `WHERE ${wheres.join(" AND ")}`;
      return (await pool.query(`${heads} ${where} ${tail} $1`, values)).rows.map(toHead);
    },
    recent: async (offset, count, threadIds) => {
      const { rows } = await pool.query(
        `SELECT * FROM (
          SELECT DISTINCT ON (thread_id) thread_id, checkpoint_ns, checkpoint_id, metadata FROM ${schema}.checkpoints
          WHERE checkpoint_ns = '' AND ($3::text[] IS NULL OR thread_id = ANY($3))
          ORDER BY thread_id, checkpoint_id DESC
        ) AS latest ORDER BY checkpoint_id DESC LIMIT $1 OFFSET $2`,
        [count, offset, threadIds ?? null],
      );
      return rows.map((row) => ({ ...toHead(row), metadata: metadataIn(row) }));
    },
    headOf: async ({ threadId, namespace }) => {
      const { rows } = await pool.query(
        `SELECT checkpoint_id FROM ${schema}.checkpoints WHERE thread_id = $1 AND checkpoint_ns = $2
        ORDER BY checkpoint_id DESC LIMIT 1`,
        [threadId, namespace],
      );
      return rows[0] === undefined ? undefined : String(rows[0]["checkpoint_id"]);
    },
    metadataOf: async ({ threadId, namespace, checkpointId }) => {
      const { rows } = await pool.query(
        `SELECT metadata FROM ${schema}.checkpoints
        WHERE thread_id = $1 AND checkpoint_ns = $2 AND checkpoint_id = $3`,
        [threadId, namespace, checkpointId],
      );
      return metadataIn(rows[0]);
    },
    measure: (threadId) => measure(pool, schema, threadId),
  };
}

function metadataIn(row: Record<string, unknown> | undefined): Readonly<Record<string, unknown>> {
  const metadata = row?.["metadata"];
  return isRecord(metadata) ? metadata : {};
}

function toHead(row: Record<string, unknown>): Head {
  return {
    threadId: String(row["thread_id"]),
    namespace: String(row["checkpoint_ns"]),
    checkpointId: String(row["checkpoint_id"]),
  };
}

async function measure(pool: Pool, schema: string, threadId: string): Promise<ThreadSizes> {
  const read = async (sql: string) => (await pool.query(sql, [threadId])).rows;
  const [total] = await read(`SELECT count(*) AS count,
    coalesce(sum(octet_length(checkpoint::text) + octet_length(metadata::text)), 0) AS bytes
    FROM ${schema}.checkpoints WHERE thread_id = $1`);
  const stored = await read(`SELECT channel, sum(bytes) AS bytes FROM (
      SELECT channel, octet_length(blob) AS bytes FROM ${schema}.checkpoint_blobs WHERE thread_id = $1
      UNION ALL
      SELECT channel, octet_length(blob) FROM ${schema}.checkpoint_writes WHERE thread_id = $1
    ) AS stored GROUP BY channel ORDER BY channel`);
  const [latest] = await read(`SELECT octet_length(blob) AS bytes FROM ${schema}.checkpoint_blobs
    WHERE thread_id = $1 AND checkpoint_ns = '' AND channel = 'messages' AND version = (
      SELECT checkpoint->'channel_versions'->>'messages' FROM ${schema}.checkpoints
      WHERE thread_id = $1 AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1)`);
  const channels = Object.fromEntries(
    stored.map((row) => [String(row["channel"]), Number(row["bytes"] ?? 0)]),
  );
  const values = Object.values(channels).reduce((sum, bytes) => sum + bytes, 0);
  return {
    checkpoints: Number(total?.["count"]),
    totalBytes: Number(total?.["bytes"]) + values,
    messagesBytes: channels["messages"] ?? 0,
    latestMessagesBytes: Number(latest?.["bytes"] ?? 0),
    channels,
  };
}
