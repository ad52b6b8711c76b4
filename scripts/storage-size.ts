/**
 * Measures how many bytes a thread takes in SQLite and PostgreSQL, and prints a table:
 *
 *     npm run with-postgres -- npx tsx scripts/storage-size.ts
 *
 * A turn is a question, a call of a tool, its result and the answer. PostgreSQL takes part if `DATABASE_URL` names a
 * database. Its figure is that of its tables with their indexes, of several threads, so that half-filled pages count
 * little.
 */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createDeployTools } from "../server/tools/create-tools.js";
import { type AgentGraphOptions, createAgentGraph } from "../src/index.js";

const TURNS = [1, 10, 50];
const THREADS = 10;

type Storage = Pick<AgentGraphOptions, "checkpointer">;

/** The archive is small in steps: a summary covers all but the last 20 messages when there are more than 40. */
const ARCHIVE = { coveredMessages: "archive", maxMessagesBeforeSummary: 40, messagesToKeep: 20 } as const;
const WAYS: Readonly<Record<string, Partial<AgentGraphOptions>>> = {
  full: { messagesChannel: "full" },
  "full, summaries and archive": { messagesChannel: "full", ...ARCHIVE },
  delta: { messagesChannel: "delta" },
  "delta, summaries and archive": { messagesChannel: "delta", ...ARCHIVE },
};

async function play(storage: Storage, way: Partial<AgentGraphOptions>, thread: number, turns: number) {
  const agent = createAgentGraph({ model: "offline:", tools: createDeployTools(), ...way, ...storage });
  for (let turn = 0; turn < turns; turn += 1) {
    const messages = [
      { role: "user", content: `call calculator {"expression": "${thread * 100 + turn} + 22"}` },
    ];
    await agent.invoke({ messages }, { configurable: { thread_id: `${thread}` } });
  }
}

/** One thread in a file, which SQLite has written whole. */
async function sizeInSqlite(way: Partial<AgentGraphOptions>, turns: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "tether-size-"));
  try {
    const file = join(folder, "threads.sqlite");
    const checkpointer = SqliteSaver.fromConnString(file);
    await play({ checkpointer }, way, 1, turns);
    checkpointer.db.pragma("wal_checkpoint(TRUNCATE)");
    checkpointer.db.close();
    return statSync(file).size;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Pool {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: { name: string; bytes: number }[] }>;
}

const url = process.env["DATABASE_URL"];
let schemas = 0;

async function sizeInPostgres(way: Partial<AgentGraphOptions>, turns: number): Promise<object> {
  schemas += 1;
  const schema = `tether_size_${process.pid}_${schemas}`;
  const checkpointer = PostgresSaver.fromConnString(url ?? "", { schema });
  // The checkpointer's own connections. The package has no types for them.
  const pool: Pool = Reflect.get(checkpointer, "pool");
  try {
    await checkpointer.setup();
    const sizes = async () => {
      const { rows } = await pool.query(
        `select relname as name, pg_total_relation_size(c.oid)::int as bytes from pg_class c
         join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'`,
        [schema],
      );
      return new Map(rows.map(({ name, bytes }) => [name, bytes]));
    };
    const empty = await sizes();
    for (let thread = 0; thread < THREADS; thread += 1) await play({ checkpointer }, way, thread, turns);
    const grown = [...(await sizes())].map(([name, bytes]) => {
      return [name, Math.round((bytes - (empty.get(name) ?? 0)) / THREADS)] as const;
    });
    const total = grown.reduce((sum, [, bytes]) => sum + bytes, 0);
    return { postgres: total, ...Object.fromEntries(grown.filter(([, bytes]) => bytes > 0)) };
  } finally {
    await pool.query(`drop schema ${schema} cascade`);
    await checkpointer.end();
  }
}

const rows: object[] = [];
for (const [name, way] of Object.entries(WAYS)) {
  for (const turns of TURNS) {
    const sqlite = await sizeInSqlite(way, turns);
    const postgres = url === undefined ? {} : await sizeInPostgres(way, turns);
    rows.push({ messages: name, turns, sqlite, ...postgres });
    console.table(rows.slice(-1));
  }
}
console.table(rows);
if (url === undefined) console.log("PostgreSQL was skipped: set `DATABASE_URL` to include it.");
