/** The agent that every worker runs, and the database that all of them share. */

import { setTimeout as delay } from "node:timers/promises";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { tool } from "@langchain/core/tools";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { createAgentGraph, postgresThreadLock } from "langgraph-tether";
import pg from "pg";
import { z } from "zod";

export const DATABASE_URL = process.env["DATABASE_URL"] ?? "postgresql://postgres@127.0.0.1:5432/postgres";
/** How many turns a worker has at once. Each has a connection for its lock. */
export const TURNS_AT_ONCE = 20;

const sky = tool(async ({ city }) => `${city}: clear sky`, {
  name: "sky",
  description: "Looks at the sky over a city.",
  schema: z.object({ city: z.string() }),
});
const wait = tool(({ seconds }, { signal }) => delay(seconds * 1000, `waited ${seconds} s`, { signal }), {
  name: "wait",
  description: "Waits. The signal ends the wait when the turn is cancelled.",
  schema: z.object({ seconds: z.number() }),
  // After a crash it is run again. A tool that does not say so is not, because it may have taken effect.
  metadata: { replay: "safe" },
});

const connectionOptions = {
  connectionString: DATABASE_URL,
  connectionTimeoutMillis: 10_000,
  keepAlive: true,
};

export function openPool(max: number): pg.Pool {
  return outliving(new pg.Pool({ ...connectionOptions, max }));
}

/** A lost connection would end the process without these listeners. */
function outliving(pool: pg.Pool): pg.Pool {
  pool.on("error", (error) => console.error(`PostgreSQL: ${error.message}`));
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

export function openAgent() {
  const threads = openPool(10);
  // A run waits for its lock in a query, so these connections have no `query_timeout`.
  const locks = openPool(TURNS_AT_ONCE);
  const store = new PostgresStore({
    connectionOptions: { ...connectionOptions, max: 5 },
    ensureTables: false,
  });
  outliving(store["core"].pool);
  const agent = createAgentGraph({
    model: process.env["MODEL"] ?? "offline:",
    tools: [sky, wait],
    checkpointer: new PostgresSaver(threads),
    store,
    concurrentRuns: postgresThreadLock(locks),
  });
  return { agent, close: () => Promise.all([threads.end(), locks.end(), store.stop()]) };
}

/** Call it before the workers of a new version start. Two that create tables at the same time disturb each other. */
export async function createTables(): Promise<void> {
  const checkpointer = PostgresSaver.fromConnString(DATABASE_URL);
  const store = PostgresStore.fromConnString(DATABASE_URL);
  await checkpointer.setup();
  await store.setup();
  await Promise.all([checkpointer.end(), store.stop()]);
  await DBOS.migrate(DATABASE_URL);
}
