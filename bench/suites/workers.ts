/** Turns in a second of one, two and three worker processes over one PostgreSQL. Each worker has eight turns at once. */

import { runFleet } from "../../test/crash/fleet/run-fleet.js";
import { ONE_WORKER, THREE_WORKERS, TWO_WORKERS } from "../contenders.js";
import { type CaseSpec, measureRounds, type Suite } from "../suite.js";

const WORKERS = { [ONE_WORKER]: 1, [TWO_WORKERS]: 2, [THREE_WORKERS]: 3 };
const THREADS = 30;

/** @param toolMs The longest time of a tool. A turn has five calls at the same time. */
function caseOf(id: string, title: string, toolMs: number, turns: number): CaseSpec {
  const rate = async (workers: number): Promise<number> => {
    const fleet = { workers, jobs: THREADS * turns, threads: THREADS, hasLock: true, hasTrouble: false };
    const { rate, faults, details } = await runFleet({ ...fleet, worker: { toolMs } });
    if (Object.values(faults).some((count) => count > 0)) throw new Error(details.join("\n"));
    return rate;
  };
  const contenders = Object.fromEntries(
    Object.entries(WORKERS).map(([name, count]) => [name, () => rate(count)]),
  );
  return { id, title, unit: "turns/s", isMoreBetter: true, base: ONE_WORKER, contenders };
}

export const workers: Suite = {
  name: "workers",
  measure: (conditions) => {
    const turns = conditions.isQuick ? 2 : 3;
    const cases = [
      caseOf("computing", "Turns in a second, tools that return at once", 0, turns),
      caseOf("waiting", "Turns in a second, tools that wait up to two seconds", 2_000, turns),
    ];
    return measureRounds(cases, { ...conditions, rounds: 3, warmUps: 0 });
  },
};
