/** Runs turns of one agent in child processes that are killed, and checks what the thread keeps. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Crashes, checkLedger } from "./check-ledger.js";
import {
  type Database,
  type Durability,
  type Entry,
  type Job,
  OPERATIONS,
  SUMMARY_OPERATIONS,
} from "./job.js";

const CHILD = fileURLToPath(new URL("crash-child.ts", import.meta.url));
/** Inside the repository, so that the child finds its packages. */
const BUNDLES = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
/** A new thread begins after this many kills. */
const KILLS_A_THREAD = 10;
const LONGEST_RUN_MS = 500;
const HIGHEST_COUNT = 8;
/** Of the operations of a summary, of which a run has few. */
const HIGHEST_SUMMARY_COUNT = 2;

export interface CrashOptions {
  readonly database: Database;
  readonly durability: Durability;
  readonly kills: number;
  /** Contract: returns a number from 0 to 1, without 1. */
  readonly random: () => number;
  /** Contract: gets the ledger of each thread with a fault. */
  readonly onFault?: (entries: readonly Entry[], crashes: Crashes) => void;
}

/** Loading takes longer than a turn, so the next process loads while one works. */
class Children {
  readonly #bundle: string;
  #next: Promise<ChildProcess>;

  constructor(bundle: string) {
    this.#bundle = bundle;
    this.#next = startChild(bundle);
  }

  async run(job: Job, killAfterMs: number | undefined): Promise<void> {
    const child = await this.#next;
    this.#next = startChild(this.#bundle);
    const exited = once(child, "exit");
    const started = once(child, "message");
    child.send(job);
    if (killAfterMs !== undefined) {
      await Promise.race([started, exited]);
      await Promise.race([delay(killAfterMs), exited]);
      child.kill("SIGKILL");
    }
    await exited;
  }

  async close(): Promise<void> {
    (await this.#next).kill("SIGKILL");
  }
}

/** Packages that load binary files, or that are not there. */
const EXTERNAL = ["better-sqlite3", "pg-native"];
/** Packages in CommonJS need it. */
const BANNER = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** A process that compiles its own sources, or reads all files of its packages, takes several times as long to start. */
async function bundleChild(folder: string): Promise<string> {
  const outfile = join(folder, "crash-child.mjs");
  const options = { bundle: true, format: "esm", platform: "node", logLevel: "error" } as const;
  await build({ ...options, external: EXTERNAL, banner: { js: BANNER }, entryPoints: [CHILD], outfile });
  return outfile;
}

async function startChild(bundle: string): Promise<ChildProcess> {
  // Without the loader of the parent, which would compile the bundle again.
  const child = fork(bundle, { execArgv: [] });
  await once(child, "message");
  return child;
}

export async function runCrashes(options: CrashOptions): Promise<Crashes> {
  mkdirSync(BUNDLES, { recursive: true });
  const folder = mkdtempSync(join(BUNDLES, "tether-crash-"));
  const children = new Children(await bundleChild(folder));
  const all: Crashes[] = [];
  try {
    let kills = 0;
    for (let thread = 0; kills < options.kills; thread += 1) {
      const ledger = join(folder, `${thread}.jsonl`);
      const wanted = Math.min(KILLS_A_THREAD, options.kills - kills);
      const isSummarised = thread % 2 === 1 || options.kills <= KILLS_A_THREAD;
      const job = { ledger, threadId: `${thread}`, wanted, isSummarised };
      const crashes = await crashThread(options, children, job);
      all.push(crashes);
      kills += crashes.kills;
    }
  } finally {
    await children.close();
    rmSync(folder, { recursive: true });
  }
  return sum(all);
}

interface ThreadJob {
  readonly ledger: string;
  readonly threadId: string;
  readonly wanted: number;
  readonly isSummarised: boolean;
}

async function crashThread(
  { database, durability, random, onFault }: CrashOptions,
  children: Children,
  { ledger, threadId, wanted, isSummarised }: ThreadJob,
): Promise<Crashes> {
  const read = (): Entry[] =>
    readFileSync(ledger, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  const upTo = (most: number) => Math.floor(random() * most);
  const operations = OPERATIONS.filter((name) => isSummarised || !SUMMARY_OPERATIONS.includes(name));
  const chooseMoment = () => {
    const operation = operations[upTo(operations.length)] ?? "model";
    const most = SUMMARY_OPERATIONS.includes(operation) ? HIGHEST_SUMMARY_COUNT : HIGHEST_COUNT;
    return { operation, count: 1 + upTo(most) };
  };
  let crashes = checkLedger([]);
  for (let boot = 0; boot === 0 || crashes.kills < wanted; boot += 1) {
    const isTimed = random() < 0.4;
    const job: Job = {
      database,
      durability,
      threadId,
      boot,
      text: boot === 0 || random() < 0.65 ? `message ${boot}` : null,
      rounds: 2 + upTo(2),
      isSummarised,
      killAt: isTimed ? undefined : chooseMoment(),
      ledger,
    };
    await children.run(job, isTimed ? random() * LONGEST_RUN_MS : undefined);
    crashes = checkLedger(read());
  }
  const end = { boot: 1_000, text: "the end", rounds: 1, killAt: undefined };
  await children.run({ database, durability, threadId, isSummarised, ledger, ...end }, undefined);
  const entries = read();
  crashes = checkLedger(entries);
  if (crashes.faults.length > 0) onFault?.(entries, crashes);
  return crashes;
}

function sum(all: readonly Crashes[]): Crashes {
  const total = (count: (crashes: Crashes) => number) =>
    all.reduce((before, each) => before + count(each), 0);
  return {
    kills: total(({ kills }) => kills),
    mostInARow: Math.max(0, ...all.map(({ mostInARow }) => mostInARow)),
    archived: total(({ archived }) => archived),
    finishedRuns: total(({ finishedRuns }) => finishedRuns),
    finishedTools: total(({ finishedTools }) => finishedTools),
    unsavedResults: total(({ unsavedResults }) => unsavedResults),
    resultsBesideCheckpoint: total(({ resultsBesideCheckpoint }) => resultsBesideCheckpoint),
    lost: total(({ lost }) => lost),
    runTwice: total(({ runTwice }) => runTwice),
    faults: all.flatMap(({ faults }) => faults),
  };
}
