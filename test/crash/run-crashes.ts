/** Runs turns of one agent in child processes that are killed, and checks what the thread keeps. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Crashes, checkLedger } from "./check-ledger.js";
import { type Database, type Durability, type Entry, type Job, OPERATIONS } from "./job.js";

const CHILD = fileURLToPath(new URL("crash-child.ts", import.meta.url));
/** Inside the repository, so that the child finds its packages. */
const BUNDLES = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
/** A new thread begins after this many kills. */
const KILLS_A_THREAD = 10;
const LONGEST_RUN_MS = 250;
const HIGHEST_COUNT = 8;

export interface CrashOptions {
  readonly database: Database;
  readonly durability: Durability;
  readonly kills: number;
  /** Contract: returns a number from 0 to 1, without 1. */
  readonly random: () => number;
  /** Which share of the kills comes after a time, and not at an operation. @default 0.4 */
  readonly timedShare?: number;
  /**
   * Another implementation: the module of its adapter, and a folder from which its packages are found.
   *
   * @default `createAgentGraph`
   */
  readonly agent?: { readonly module: string; readonly bundles: string };
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

function makeFolder(parent: string): string {
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, "tether-crash-"));
}

/** A process that compiles its own sources takes three times as long to start. */
async function bundle(source: string, outfile: string): Promise<string> {
  const options = { bundle: true, packages: "external", format: "esm", platform: "node" } as const;
  await build({ ...options, entryPoints: [source], outfile });
  return outfile;
}

async function startChild(bundle: string): Promise<ChildProcess> {
  const child = fork(bundle);
  await once(child, "message");
  return child;
}

export async function runCrashes(options: CrashOptions): Promise<Crashes> {
  const folder = makeFolder(BUNDLES);
  const children = new Children(await bundle(CHILD, join(folder, "crash-child.mjs")));
  const others = options.agent && makeFolder(options.agent.bundles);
  const all: Crashes[] = [];
  try {
    const agent = options.agent && others && (await bundle(options.agent.module, join(others, "agent.mjs")));
    let kills = 0;
    for (let thread = 0; kills < options.kills; thread += 1) {
      const ledger = join(folder, `${thread}.jsonl`);
      const wanted = Math.min(KILLS_A_THREAD, options.kills - kills);
      const crashes = await crashThread(options, children, { ledger, threadId: `${thread}`, wanted, agent });
      all.push(crashes);
      kills += crashes.kills;
    }
  } finally {
    await children.close();
    rmSync(folder, { recursive: true });
    if (others !== undefined) rmSync(others, { recursive: true });
  }
  return sum(all);
}

interface ThreadJob {
  readonly ledger: string;
  readonly threadId: string;
  readonly wanted: number;
  readonly agent: string | undefined;
}

async function crashThread(
  { database, durability, random, timedShare = 0.4, onFault }: CrashOptions,
  children: Children,
  { ledger, threadId, wanted, agent: module }: ThreadJob,
): Promise<Crashes> {
  const read = (): Entry[] =>
    readFileSync(ledger, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  const upTo = (most: number) => Math.floor(random() * most);
  const agent = module === undefined ? {} : { agent: module };
  let crashes = checkLedger([]);
  for (let boot = 0; boot === 0 || crashes.kills < wanted; boot += 1) {
    const isTimed = random() < timedShare;
    const operation = OPERATIONS[upTo(OPERATIONS.length)] ?? "model";
    const job: Job = {
      database,
      durability,
      threadId,
      boot,
      text: boot === 0 || random() < 0.65 ? `message ${boot}` : null,
      rounds: 2 + upTo(2),
      killAt: isTimed ? undefined : { operation, count: 1 + upTo(HIGHEST_COUNT) },
      ledger,
      ...agent,
    };
    await children.run(job, isTimed ? random() * LONGEST_RUN_MS : undefined);
    crashes = checkLedger(read());
  }
  const last = { database, durability, threadId, boot: 1_000, text: "the end", rounds: 1, ledger, ...agent };
  await children.run({ ...last, killAt: undefined }, undefined);
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
    finishedRuns: total(({ finishedRuns }) => finishedRuns),
    finishedTools: total(({ finishedTools }) => finishedTools),
    unsavedResults: total(({ unsavedResults }) => unsavedResults),
    resultsBesideCheckpoint: total(({ resultsBesideCheckpoint }) => resultsBesideCheckpoint),
    faults: all.flatMap(({ faults }) => faults),
  };
}
