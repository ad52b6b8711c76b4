/**
 * Two workers over one PostgreSQL. One of them is killed in the middle of a turn, and the other one finishes it.
 *
 *     npx tsx examples/many-machines/run.ts
 *
 * It starts an embedded PostgreSQL server, unless `DATABASE_URL` names a database.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { openPostgresServer } from "../../scripts/with-postgres.js";
import type { TurnEvent } from "./client.js";

const server = process.env["DATABASE_URL"] === undefined ? await openPostgresServer() : undefined;
if (server !== undefined) process.env["DATABASE_URL"] = server.url;
// These read the address when they are loaded.
const { createTables } = await import("./agent.js");
const { connect } = await import("./client.js");

const workers = new Map<string, ChildProcess>();

async function startWorker(name: string): Promise<void> {
  const file = fileURLToPath(new URL("worker.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", file], {
    env: { ...process.env, WORKER: name },
    stdio: ["ignore", "pipe", "inherit"],
  });
  workers.set(name, child);
  await once(child.stdout, "data");
  console.log(`${name} works`);
}

async function stopWorker(name: string, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const child = workers.get(name);
  workers.delete(name);
  if (child?.kill(signal)) await once(child, "exit");
  console.log(`${name} has ended: ${signal}`);
}

await createTables();
const client = await connect();

const print = ({ worker, text }: TurnEvent): void => console.log(`${worker}: ${text}`);

try {
  await Promise.all([startWorker("worker-1"), startWorker("worker-2")]);

  const long = await client.send("paris", 'call sky {"city": "Paris"} then call wait {"seconds": 2}');
  const next = await client.send("paris", 'call sky {"city": "Lyon"}');
  const events = client.events(long);
  const { value: first } = await events.next();
  if (first === undefined) throw new Error("Expected the result of the first tool.");
  print(first);
  // The second tool runs now. What the first one returned is saved, and is not lost.
  await stopWorker(first.worker, "SIGKILL");
  await client.giveBackAll(first.worker);
  for await (const event of events) print(event);
  // The next turn of the thread has waited for the end of this one.
  for await (const event of client.events(next)) print(event);

  const endless = await client.send("rome", 'call sky {"city": "Rome"} then call wait {"seconds": 600}');
  const after = await client.send("rome", 'call sky {"city": "Oslo"}');
  await client.events(endless).next();
  await client.cancel(endless);
  for await (const event of client.events(after)) print(event);
  console.log(`The response: ${await client.response(after)}`);
} finally {
  for (const name of workers.keys()) await stopWorker(name, "SIGTERM");
  await client.close();
  await server?.close();
}
