/**
 * Repairs that are killed. By default at a few of their writes; with `SLOW_TESTS=1` at each of them, and `KILLS=100`
 * also at that many random moments.
 */

import { expect, it } from "vitest";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";
import { openWard } from "./killed-repairs.js";

expectWarnings(OLD_PACKAGES);

const IS_SLOW = process.env["SLOW_TESTS"] === "1";
const KILLS = Number(process.env["KILLS"] ?? 0);

it("A repair that is killed at a write loses nothing, and a second one completes it", async () => {
  const ward = await openWard(["langchain"], { threads: 6, broken: IS_SLOW ? 4 : 2 });
  try {
    expect(ward.writes).toBeGreaterThan(8);
    const all = Array.from({ length: ward.writes }, (_, index) => index + 1);
    const told: string[] = [];
    // When the receipt has the thread, and when the thread is written, but the receipt does not say so.
    for (const write of IS_SLOW ? all : [2, 4])
      for (const fault of await ward.kill({ write }))
        told.push(`killed at ${write} of ${ward.writes}: ${fault}`);
    expect(told).toEqual([]);
  } finally {
    ward.close();
  }
});

/** For opening the threads, and for each kill with the repair that completes it. */
const TIMEOUT_MS = 300_000 + KILLS * 30_000;

it.skipIf(KILLS === 0)(
  "nor does one that is killed at a random moment",
  { timeout: TIMEOUT_MS },
  async () => {
    const ward = await openWard(["langchain", "delta", "ours"], { threads: 11, broken: 9 });
    try {
      const told: string[] = [];
      for (let kill = 0; kill < KILLS; kill += 1) {
        const afterMs = Math.random() * ward.duration;
        for (const fault of await ward.kill({ afterMs })) told.push(`killed after ${afterMs} ms: ${fault}`);
      }
      expect(told).toEqual([]);
    } finally {
      ward.close();
    }
  },
);
