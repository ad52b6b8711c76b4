/**
 * Worker processes over one PostgreSQL. It is slow because each worker is a process that lives for a few seconds, and
 * hundreds of them are killed. `npm run crashes:fleet` prints the numbers.
 */

import { describe, expect, it } from "vitest";
import { FLEETS, runFleet } from "./fleet/run-fleet.js";

describe.skipIf(process.env["SLOW_TESTS"] !== "1")("Threads whose workers are killed", () => {
  it.each(FLEETS)("keep everything, with $title", { timeout: 1_800_000 }, async ({ title: _, ...fleet }) => {
    const { faults, refused, details } = await runFleet({
      ...fleet,
      jobs: 300,
      threads: 20,
      hasTrouble: true,
    });
    const { unsafeTwice, ...others } = faults;
    expect(
      Object.entries(others).filter(([, count]) => count > 0),
      details.join("\n"),
    ).toEqual([]);
    // The reason for the lock: without it, runs of one thread meet, and can start a tool at the same time.
    if (fleet.hasLock) expect(unsafeTwice, details.join("\n")).toBe(0);
    else expect(refused).toBeGreaterThan(0);
  });
});
