/**
 * Worker processes over one PostgreSQL. It is slow because each worker is a process that lives for a few seconds, and
 * hundreds of them are killed. `npm run crashes:fleet` prints the numbers.
 */

import { describe, expect, it } from "vitest";
import { FLEETS, type FleetFaults, runFleet } from "./fleet/run-fleet.js";

const NO_FAULTS: FleetFaults = {
  unsafeTwice: 0,
  lostResults: 0,
  unsoundThreads: 0,
  refusedRequests: 0,
  unfinishedJobs: 0,
  forks: 0,
  locksLeft: 0,
};

describe.skipIf(process.env["SLOW_TESTS"] !== "1")("Threads whose workers are killed", () => {
  it.each(FLEETS)("keep everything, with $title", { timeout: 1_800_000 }, async (fleet) => {
    const report = await runFleet({ ...fleet, jobs: 300, threads: 20, hasTrouble: true });
    const { unsafeTwice } = fleet.hasLock ? NO_FAULTS : report.faults;
    expect(report.faults, report.details.join("\n")).toEqual({ ...NO_FAULTS, unsafeTwice });
    // The reason for the lock: without it, runs of one thread meet, and can start a tool at the same time.
    if (!fleet.hasLock) expect(report.refused).toBeGreaterThan(0);
  });
});
