/** A deployment in a database, as the proof of the doctor sees it: one database for each agent. */

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { type AgentName, createDeployedAgent } from "./agents.js";

/** A stored value is JSON. Read so, nothing of it can be lost, and nothing makes reading fail. */
export const asJson = {
  // A checkpointer also reads what it has read already, by writing it.
  dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
    "json",
    new TextEncoder().encode(JSON.stringify(value)),
  ],
  loadsTyped: async (_: string, data: Uint8Array | string): Promise<unknown> =>
    JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data)),
};

export interface AgentDatabase {
  readonly saver: BaseCheckpointSaver;
  /** All that is stored of a thread, in one string. */
  dump(threadId: string): Promise<string>;
  /** All that is stored. */
  dumpAll(): Promise<string>;
  /** The values of the channels of a thread's latest checkpoint, as JSON. Those of LangGraph itself are left out. */
  channels(threadId: string): Promise<Record<string, unknown>>;
  threadIds(): Promise<string[]>;
  close(): Promise<void>;
}

async function readChannels(raw: BaseCheckpointSaver, thread_id: string): Promise<Record<string, unknown>> {
  const tuple = await raw.getTuple({ configurable: { thread_id } });
  const values = Object.entries(tuple?.checkpoint.channel_values ?? {});
  return Object.fromEntries(values.filter(([name]) => !name.startsWith("branch:") && !name.startsWith("__")));
}

export function openSqlite(folder: string, agent: AgentName): AgentDatabase {
  const file = fileOf(folder, agent);
  const saver = SqliteSaver.fromConnString(file);
  saver.db.pragma("busy_timeout = 10000");
  const raw = new SqliteSaver(saver.db, asJson as never);
  // An agent without threads has no tables.
  Object.getPrototypeOf(saver).setup.call(saver);
  const rows = (where: string, ...values: string[]): string =>
    JSON.stringify(
      ["checkpoints", "writes"].map((table) =>
        saver.db
          .prepare(`SELECT * FROM ${table} ${where} ORDER BY rowid`)
          .all(...values)
          .map((row: unknown) =>
            Object.values(Object(row)).map((value) => (Buffer.isBuffer(value) ? value.toString() : value)),
          ),
      ),
    );
  return {
    saver,
    dump: async (threadId) => rows("WHERE thread_id = ?", threadId),
    dumpAll: async () => rows(""),
    channels: (threadId) => readChannels(raw, threadId),
    threadIds: async () =>
      saver.db
        .prepare("SELECT DISTINCT thread_id AS id FROM checkpoints ORDER BY id")
        .all()
        .map((row: unknown) => Object(row).id),
    close: async () => void saver.db.close(),
  };
}

const fileOf = (folder: string, agent: AgentName): string => join(folder, `${agent}.sqlite`);

/** Copies the databases of all agents, which nobody may have open. */
export function copySqlite(from: string, to: string, agents: readonly AgentName[]): void {
  for (const agent of agents) copyFileSync(fileOf(from, agent), fileOf(to, agent));
}

export async function openPostgres(url: string, schema: string): Promise<AgentDatabase> {
  const saver = PostgresSaver.fromConnString(url, { schema });
  await saver.setup();
  const { pool } = saver as unknown as {
    pool: { query(sql: string, values: unknown[]): Promise<{ rows: object[] }> };
  };
  const raw = new PostgresSaver(pool as never, asJson as never, { schema });
  const rows = async (where: string, values: unknown[]): Promise<string> => {
    const tables = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"].map(async (table) => {
      const found = await pool.query(
        `SELECT each::text FROM "${schema}".${table} AS each ${where} ORDER BY 1`,
        values,
      );
      return found.rows;
    });
    return JSON.stringify(await Promise.all(tables));
  };
  return {
    saver,
    dump: (threadId) => rows("WHERE thread_id = $1", [threadId]),
    dumpAll: () => rows("", []),
    channels: (threadId) => readChannels(raw, threadId),
    threadIds: async () => {
      const found = await pool.query(
        `SELECT DISTINCT thread_id AS id FROM "${schema}".checkpoints ORDER BY 1`,
        [],
      );
      return found.rows.map((row) => String(Reflect.get(row, "id")));
    },
    close: () => saver.end(),
  };
}

/** The messages of a thread in JSON. A delta channel has them in several checkpoints, so its graph puts them together. */
export async function messagesJson(
  agent: AgentName,
  database: AgentDatabase,
  threadId: string,
): Promise<readonly Record<string, unknown>[]> {
  const stored = (await database.channels(threadId))["messages"];
  if (agent !== "delta") return (Array.isArray(stored) ? stored : []) as Record<string, unknown>[];
  const graph = createDeployedAgent(agent, database.saver);
  const tuple = await database.saver.getTuple({ configurable: { thread_id: threadId } });
  // With the id of its checkpoint, the state is read without the writes of finished tasks.
  const { messages = [] } = (await graph.getState({ ...tuple?.config })).values;
  return JSON.parse(JSON.stringify(messages));
}
