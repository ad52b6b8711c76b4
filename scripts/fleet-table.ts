/**
 * Kills workers that share a PostgreSQL database, and prints what became of their jobs: `npm run crashes:fleet`.
 *
 * `FLEET_JOBS` is the number of jobs (default: 300). Words choose fleets by their titles: `npm run crashes:fleet -- three`.
 * It ends with 1 if a fleet with the lock has a fault.
 */

import { FLEETS, runFleet } from "../test/crash/fleet/run-fleet.js";

const jobs = Number(process.env["FLEET_JOBS"] ?? 300);
const words = process.argv.slice(2);

for (const { title, ...fleet } of FLEETS.filter(({ title }) => words.every((word) => title.includes(word)))) {
  const { details, faults, ...numbers } = await runFleet({
    ...fleet,
    jobs,
    threads: Math.ceil(jobs / 15),
    hasTrouble: true,
  });
  console.log(title);
  console.table({ ...numbers, ...faults });
  for (const detail of details) console.log(detail);
  if (fleet.hasLock && Object.values(faults).some((count) => count > 0)) process.exitCode = 1;
}
