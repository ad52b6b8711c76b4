/** Runs turns of one agent in child processes that are killed, and checks what the thread keeps. */

import { join } from "node:path";
import { type Crashes, checkLedger, NO_CRASHES } from "./check-ledger.js";
import { type Children, readLedger, withChildren } from "./children.js";
import {
  type Channel,
  type Database,
  type Durability,
  type Entry,
  type Job,
  OPERATIONS,
  SUMMARY_OPERATIONS,
} from "./job.js";

const KILLS_A_THREAD = 10;
const LONGEST_RUN_MS = 500;
const HIGHEST_COUNT = 8;
/** Of the operations of a summary, of which a run has few. */
const HIGHEST_SUMMARY_COUNT = 2;

export interface CrashOptions {
  readonly database: Database;
  readonly durability: Durability;
  /** @default "full" */
  readonly messagesChannel?: Channel;
  readonly kills: number;
  /** Contract: returns a number from 0 to 1, without 1. */
  readonly random: () => number;
  /** Contract: gets the ledger of each thread with a fault. */
  readonly onFault?: (entries: readonly Entry[], crashes: Crashes) => void;
}

export async function runCrashes(options: CrashOptions): Promise<Crashes> {
  return withChildren(1, async (folder, [children]) => {
    const all: Crashes[] = [];
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
    return sum(all);
  });
}

interface ThreadJob {
  readonly ledger: string;
  readonly threadId: string;
  readonly wanted: number;
  readonly isSummarised: boolean;
}

async function crashThread(
  { database, durability, messagesChannel = "full", random, onFault }: CrashOptions,
  children: Children,
  { ledger, threadId, wanted, isSummarised }: ThreadJob,
): Promise<Crashes> {
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
      messagesChannel,
      threadId,
      boot,
      text: boot === 0 || random() < 0.65 ? `message ${boot}` : null,
      rounds: 2 + upTo(2),
      isSummarised,
      killAt: isTimed ? undefined : chooseMoment(),
      ledger,
    };
    await children.run(job, isTimed ? random() * LONGEST_RUN_MS : undefined);
    crashes = checkLedger(readLedger(ledger));
  }
  const end = { boot: 1_000, text: "the end", rounds: 1, killAt: undefined };
  const where = { database, durability, messagesChannel, threadId, isSummarised, ledger };
  await children.run({ ...where, ...end }, undefined);
  const entries = readLedger(ledger);
  crashes = checkLedger(entries);
  if (crashes.faults.length > 0) onFault?.(entries, crashes);
  return crashes;
}

function sum(all: readonly Crashes[]): Crashes {
  const sums = { ...NO_CRASHES };
  for (const crashes of all)
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += crashes[name];
  const mostInARow = Math.max(0, ...all.map(({ mostInARow }) => mostInARow));
  return { ...sums, mostInARow, faults: all.flatMap(({ faults }) => faults) };
}
