/** `docs/production.md` shows how PostgreSQL is opened, so that a lost connection does not end the process. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { openPostgres } from "../../src/doctor/targets/postgres-target.js";
import { DATABASE_URL } from "../support/savers.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");

/** Ends all connections of the process: idle ones, and those that are in use. */
const ENDS_CONNECTIONS = `
import { createAgentGraph } from "langgraph-tether";
import { setTimeout as delay } from "node:timers/promises";

const agent = createAgentGraph({ model: "offline:", checkpointer, store });
const thread_id = crypto.randomUUID();
const say = async (content) => {
  const state = await agent.invoke({ messages: [{ role: "user", content }] }, { configurable: { thread_id } });
  return state.messages.length;
};
const other = new pg.Client({ connectionString: process.env.DATABASE_URL });
await other.connect();
const endAll = () =>
  other.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lost' and pid <> pg_backend_pid()");
const counts = [await say("one")];
await store.put(["a"], "k", {});
await endAll();
await delay(500);
counts.push(await say("two"));
const used = await Promise.all([pool.connect(), store["core"].pool.connect()]);
await endAll();
await delay(500);
for (const client of used) client.release(true);
counts.push(await say("three"));
await store.put(["a"], "k", {});
const lost = pool.query("select pg_sleep(60)").catch((error) => error.message);
await delay(200);
await endAll();
console.log(JSON.stringify([await lost, ...counts]));
process.exit(0);
`;

async function play(recipe: string) {
  // Inside the repository, so that the program finds the packages.
  const folder = mkdtempSync(join(ROOT, "test/.lost-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "program.ts");
  writeFileSync(file, recipe + ENDS_CONNECTIONS.replace('"langgraph-tether"', '"../../src/index.js"'));
  const address = new URL(DATABASE_URL ?? "");
  address.searchParams.set("application_name", "lost");
  const child = spawn(process.execPath, ["--import", "tsx", file], {
    env: { ...process.env, DATABASE_URL: address.href },
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { output, errors };
}

it.runIf(DATABASE_URL !== undefined)(
  "a process that opens PostgreSQL as documented outlives lost connections",
  async () => {
    const documents = readFileSync(join(ROOT, "docs/production.md"), "utf8");
    const recipe = /## PostgreSQL\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(documents)?.[1] ?? "";
    const { output, errors } = await play(recipe);
    expect([output, errors]).toEqual([
      '["terminating connection due to administrator command",2,4,6]\n',
      expect.stringMatching(/^(?:PostgreSQL: terminating connection due to administrator command\n)+$/),
    ]);
    // The reason for the recipe.
    const short = recipe
      .replace(/^const (?:pool|store) =.*\n/gm, "")
      .replace(
        "new PostgresSaver(pool)",
        'PostgresSaver.fromConnString(connectionOptions.connectionString ?? "")',
      )
      .replace(
        /for [\s\S]*?\n}\n/,
        "const { pool } = checkpointer;\nconst store = new PostgresStore({ connectionOptions });\n",
      );
    expect((await play(short)).errors).toContain("Unhandled 'error' event");
  },
);

it.runIf(DATABASE_URL !== undefined)(
  "the doctor outlives a connection that is lost while it is used",
  async () => {
    const opened = await openPostgres({ postgres: DATABASE_URL ?? "" }, { canWrite: true, folder: ROOT });
    onTestFinished(() => opened.close());
    interface Connection {
      query(sql: string, values?: unknown[]): Promise<{ rows: { id: number }[] }>;
      release(destroy: boolean): void;
    }
    const { pool } = opened.saver as unknown as { pool: Connection & { connect(): Promise<Connection> } };
    const client = await pool.connect();
    const { rows } = await client.query("select pg_backend_pid() as id");
    await pool.query("select pg_terminate_backend($1)", [rows[0]?.id]);
    await delay(500);
    client.release(true);
    expect(await opened.tables.query("SELECT ? AS one", [1])).toHaveLength(1);
  },
);
