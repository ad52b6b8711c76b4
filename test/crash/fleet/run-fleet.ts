/** Workers over one PostgreSQL that are killed at random, and what must be true of their threads when all jobs are done. */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import type { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { openPostgresServer } from "../../../scripts/with-postgres.js";
import { answeredIdOf, strictViolations } from "../../support/strict-check.js";
import { type Bundle, bundleProgram, makeFolder, startChild } from "../children.js";
import { createTables } from "../connect.js";
import { answerOf, type FleetEntry, openAgent, RESULT, textOf, type WorkerOrder } from "./agent.js";
import { type JobRow, JobTable } from "./job-table.js";

const WORKER = fileURLToPath(new URL("worker.ts", import.meta.url));

/** Each second a worker is killed, and jobs are cancelled, retried, and given to a second worker. */
const TROUBLE_EVERY_MS = 1_000;
const RESTARTS = 2;
const MOST_CONNECTIONS = ["-c", "max_connections=200"];

export interface FleetOptions {
  readonly workers: number;
  readonly jobs: number;
  readonly threads: number;
  readonly hasLock: boolean;
  readonly hasTrouble: boolean;
  readonly hasRestarts?: boolean;
  readonly worker?: Partial<Pick<WorkerOrder, "atOnce" | "rounds" | "toolMs">>;
}

/** The fleets that a slow test and `npm run crashes:fleet` let run. */
export const FLEETS = [
  { title: "two workers", workers: 2, hasLock: true },
  { title: "three workers", workers: 3, hasLock: true },
  { title: "a database that restarts", workers: 2, hasLock: true, hasRestarts: true },
  { title: "no lock", workers: 2, hasLock: false },
] as const;

export async function runFleet(options: FleetOptions) {
  const folder = makeFolder();
  const server = await openPostgresServer(MOST_CONNECTIONS);
  try {
    return await runFleetOn(server, folder, options);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

async function runFleetOn(
  { url, stop, start }: Awaited<ReturnType<typeof openPostgresServer>>,
  folder: string,
  { workers, jobs, threads, hasLock, hasTrouble, hasRestarts = false, worker }: FleetOptions,
) {
  const ledger = join(folder, "ledger.jsonl");
  const order = { url, ledger, hasLock, atOnce: 8, rounds: 1, toolMs: 40, ...worker };
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  pool.on("error", () => {});
  await createTables(url);
  const table = new JobTable(pool);
  await table.create(
    Array.from({ length: jobs }, (_, index) => ({ id: index + 1, thread: `thread-${index % threads}` })),
  );
  const fleet = new Fleet(await bundleProgram(folder, WORKER), order);
  const begin = performance.now();
  await fleet.start(workers);
  /** How often a job was given to a second worker while the first one was running it. */
  let doubled = 0;
  let restarts = 0;
  let retries: number[] = [];
  let rows = await table.read();
  for (let last = performance.now(); rows.some(isOpen); ) {
    await delay(50);
    rows = await table.read();
    if (!hasTrouble || performance.now() - last < TROUBLE_EVERY_MS) continue;
    last = performance.now();
    for (const id of retries) await table.retry(id);
    const running = rows.filter(({ state }) => state === "running");
    const [cancelled, given] = [isHeads() && pick(running), isHeads() && pick(running)];
    if (cancelled) await table.cancel(cancelled.id);
    retries = cancelled && isHeads() ? [cancelled.id] : [];
    if (given && given !== cancelled) {
      await table.giveBack(String(given.owner));
      doubled += 1;
    }
    const ended = await fleet.endOne(isHeads() ? "SIGKILL" : "SIGTERM");
    await table.giveBack(`${ended}.`);
    const done = rows.filter((row) => !isOpen(row)).length;
    if (!hasRestarts || restarts === RESTARTS || done < ((restarts + 1) * jobs) / (RESTARTS + 1)) continue;
    restarts += 1;
    await stop();
    await start();
  }
  const seconds = (performance.now() - begin) / 1000;
  await fleet.stop();
  const report = await check(order, pool, rows, readLedger(ledger));
  await pool.end();
  return { seconds, killed: fleet.killed, drained: fleet.drained, doubled, restarts, ...report };
}

const isOpen = ({ state }: JobRow): boolean => state === "queued" || state === "running";
const isHeads = (): boolean => Math.random() < 0.5;
const pick = <Value>(values: readonly Value[]): Value | undefined =>
  values[Math.floor(Math.random() * values.length)];

/** The workers. Loading takes longer than a job, so the next one loads while the others work. */
class Fleet {
  readonly #bundle: Bundle;
  readonly #order: Omit<WorkerOrder, "name">;
  readonly #workers = new Map<string, ChildProcess>();
  #next: Promise<ChildProcess>;
  #count = 0;
  killed = 0;
  drained = 0;

  constructor(bundle: Bundle, order: Omit<WorkerOrder, "name">) {
    this.#bundle = bundle;
    this.#order = order;
    this.#next = startChild(bundle);
  }

  async start(count: number): Promise<void> {
    const children = Array.from({ length: count }, () => {
      const child = this.#next;
      this.#next = startChild(this.#bundle);
      return child;
    });
    // They begin together.
    for (const child of await Promise.all(children)) {
      this.#count += 1;
      const name = `worker-${this.#count}`;
      this.#workers.set(name, child);
      child.send({ ...this.#order, name });
    }
  }

  /** Ends any worker and starts another one. Returns the name of the first one. */
  async endOne(signal: "SIGKILL" | "SIGTERM"): Promise<string> {
    const [name, child] = pick([...this.#workers]) ?? [];
    if (name === undefined || child === undefined) throw new Error("Expected a worker.");
    this.#workers.delete(name);
    const exited = once(child, "exit");
    child.kill(signal);
    await Promise.all([exited, this.start(1)]);
    if (signal === "SIGTERM") this.drained += 1;
    else this.killed += 1;
    return name;
  }

  async stop(): Promise<void> {
    const children = [...this.#workers.values(), await this.#next];
    for (const child of children) child.kill("SIGTERM");
    await Promise.all(
      children.map(
        async (child) => child.exitCode === null && child.signalCode === null && once(child, "exit"),
      ),
    );
  }
}

function readLedger(file: string): readonly FleetEntry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line) => (line === "" ? [] : (JSON.parse(line) as FleetEntry)));
}

/** Reads all threads when every run has ended. Each gets one more message, which takes what waits in its inbox. */
async function check(
  order: Omit<WorkerOrder, "name">,
  pool: pg.Pool,
  rows: readonly JobRow[],
  entries: readonly FleetEntry[],
) {
  const locks = await pool.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'");
  const details: string[] = [];
  const own: FleetEntry[] = [];
  const { agent, checkpointer, close } = openAgent({ ...order, name: "check", rounds: 0 }, (entry) =>
    own.push(entry),
  );
  const threads = new Map<string, readonly BaseMessage[]>();
  for (const thread of new Set(rows.map(({ thread }) => thread))) {
    const input = { messages: [{ role: "user", id: `end of ${thread}`, content: "end" }] };
    const { messages } = await agent.invoke(input, {
      configurable: { thread_id: thread },
      durability: "sync",
    });
    threads.set(thread, messages);
  }
  const saved = await savedResults(checkpointer, pool);
  const forks = await pool.query(
    `SELECT thread_id, parent_checkpoint_id FROM checkpoints WHERE checkpoint_ns = '' AND parent_checkpoint_id IS NOT NULL
      GROUP BY 1, 2 HAVING count(*) > 1`,
  );
  await close();

  const unsound = [...threads].flatMap(([thread, messages]) => {
    const faults = strictViolations(messages).map((fault) => `${thread}: ${fault}`);
    details.push(...faults);
    return faults.length > 0 ? [thread] : [];
  });
  const unfinished = rows.filter(({ id, thread, state }) => {
    const messages = threads.get(thread) ?? [];
    const count = (text: string): number => messages.filter((message) => message.text === text).length;
    const [asked, answered] = [count(textOf(id)), count(answerOf(textOf(id)))];
    const isRight = state === "done" ? asked === 1 && answered === 1 : asked <= 1 && answered <= 1;
    if (!isRight)
      details.push(`job ${id} of ${thread}, ${state}: asked ${asked} times, answered ${answered} times`);
    return !isRight;
  });
  const results = [...threads.values()].flat().filter(({ type }) => type === "tool");
  const real = new Set(results.flatMap((result) => (isReal(result) ? (answeredIdOf(result) ?? []) : [])));
  const lost = [...saved].filter((id) => !real.has(id));
  details.push(...lost.map((id) => `the result of ${id} was saved and is lost`));
  const starts = entries.flatMap((entry) => (entry.kind === "tool-start" ? entry : []));
  const twice = starts.filter(({ work }, index) => starts.findIndex((other) => other.work === work) < index);
  details.push(...twice.flatMap(({ work, isSafe }) => (isSafe ? [] : `${work} ran twice`)));
  const ended = new Set(entries.flatMap((entry) => (entry.kind === "tool-end" ? entry.work : [])));
  const countOf = (kind: FleetEntry["kind"]): number => entries.filter((entry) => entry.kind === kind).length;
  for (const entry of entries)
    if (entry.kind === "failed") details.push(`job ${entry.job} failed: ${entry.text}`);
  return {
    /** Jobs a second, without the first quarter, in which the workers connect and compile. */
    rate: rateOf(rows),
    done: rows.filter(({ state }) => state === "done").length,
    cancelled: rows.filter(({ state }) => state === "cancelled").length,
    attempts: rows.reduce((sum, { attempts }) => sum + attempts, 0),
    /** Runs that failed because another worker wrote to their thread. */
    refused: countOf("refused"),
    failed: countOf("failed"),
    toolsStarted: starts.length,
    unsafeStarted: starts.filter(({ isSafe }) => !isSafe).length,
    saved: saved.size,
    /** Tools that ended, and whose results the database does not have: their worker was killed just then. */
    unsaved: [...ended].filter((work) => !saved.has(work)).length,
    placeholders: results.filter((result) => !isReal(result)).length,
    safeTwice: twice.filter(({ isSafe }) => isSafe).length,
    /** What must be 0. */
    faults: {
      unsafeTwice: twice.filter(({ isSafe }) => !isSafe).length,
      lostResults: lost.length,
      unsoundThreads: unsound.length,
      refusedRequests: [...entries, ...own].filter(({ kind }) => kind === "bad-request").length,
      unfinishedJobs: unfinished.length,
      forks: forks.rows.length,
      locksLeft: locks.rows.length,
    },
    details,
  };
}

function rateOf(rows: readonly JobRow[]): number {
  const ends = rows.flatMap(({ ended }) => ended?.getTime() ?? []).toSorted((one, other) => one - other);
  const begin = Math.floor(ends.length / 4);
  const [first = Number.NaN, last = Number.NaN] = [ends[begin], ends.at(-1)];
  return ((ends.length - 1 - begin) * 1000) / (last - first);
}

/** A placeholder says what is known of a call. */
const isReal = ({ text }: BaseMessage): boolean => text.startsWith(RESULT);

/** The ids of the calls whose results the database has, wherever it has them. */
async function savedResults({ serde }: PostgresSaver, pool: pg.Pool): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ type: string; blob: Uint8Array }>(
    "SELECT type, blob FROM checkpoint_writes WHERE channel = 'messages'",
  );
  const values = await Promise.all(rows.map(({ type, blob }) => serde.loadsTyped(type, blob)));
  return new Set(
    values
      .flat()
      .flatMap((message: BaseMessage) =>
        message.type === "tool" && isReal(message) ? (answeredIdOf(message) ?? []) : [],
      ),
  );
}
