/** What a suite is, and how its contenders are measured: in turns, in one process. */

import { setTimeout as delay } from "node:timers/promises";
import type { CaseResult } from "./report/results.js";

export interface Conditions {
  /** A few rounds only, to try a suite. Its numbers say little. */
  readonly isQuick: boolean;
  /** Tells how far the suite is. */
  readonly note: (text: string) => void;
}

export interface Suite {
  readonly name: string;
  /** What must be there before the suite runs. */
  readonly needs?: "postgres";
  measure(conditions: Conditions): Promise<CaseResult[]>;
}

/** Contract: returns the number of one round in the unit of its case. It is called again for each round. */
export type Contender = () => number | Promise<number>;

export interface CaseSpec extends Omit<CaseResult, "rounds"> {
  readonly contenders: Readonly<Record<string, Contender>>;
}

export interface Rounds extends Conditions {
  /** How many rounds are measured. */
  readonly rounds: number;
  /** How many are played before them, so that the code is compiled. @default 1 */
  readonly warmUps?: number;
}

const QUICK_ROUNDS = 2;

/** No round begins after this time, so that a suite ends within five minutes on a slow machine too. */
const LONGEST_MS = 220_000;

/**
 * Measures cases round by round. In each round every contender of every case has one turn, so a busy moment of the
 * machine hits all of them, and the ratio of two numbers of one round says more than that of two medians. Each round
 * begins with another contender. What one contender leaves behind is not collected while the next one is measured.
 */
export async function measureRounds(
  cases: readonly CaseSpec[],
  { rounds, warmUps = 1, isQuick, note }: Rounds,
): Promise<CaseResult[]> {
  const count = isQuick ? Math.min(rounds, QUICK_ROUNDS) : rounds;
  const results = cases.map(({ contenders, ...about }) => ({
    ...about,
    rounds: Object.fromEntries(Object.keys(contenders).map((name) => [name, [] as number[]])),
  }));
  const begin = performance.now();
  let taken = 0;
  for (let round = -Math.min(warmUps, count); round < count; round += 1) {
    if (round > 0 && performance.now() - begin > LONGEST_MS) {
      note(`ends after ${round} of ${count} rounds, because they take long`);
      break;
    }
    note(round < 0 ? "warms up" : `round ${round + 1} of ${count}`);
    for (const [index, { contenders }] of cases.entries()) {
      for (const [name, contender] of rotated(Object.entries(contenders), round)) {
        await collectGarbage(taken);
        const start = performance.now();
        const value = await contender();
        taken = performance.now() - start;
        if (round >= 0) results[index]?.rounds[name]?.push(Number(value.toPrecision(4)));
      }
    }
  }
  return results;
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const start = ((by % items.length) + items.length) % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

/** A complete collection takes long beside a short turn, which also leaves little behind. */
const LONG_TURN_MS = 100;

/** @param taken How long the turn before took, in milliseconds. */
async function collectGarbage(taken: number): Promise<void> {
  // What ended just now is still held by the microtask that ran it.
  await delay(0);
  globalThis.gc?.({ type: taken > LONG_TURN_MS ? "major" : "minor" } as never);
}

/** In milliseconds. */
export async function timeOf(run: () => unknown): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** In milliseconds, without the turn of the event loop that waiting takes. */
export function timeOfCall(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
