/**
 * Plays thousands of turns in which everything goes wrong, and prints the size of the heap: `npm run soak`. With
 * `npm run soak -- served` the graph is on a development server.
 *
 * `SOAK_TURNS` is the number of turns (default: 1,000). It ends with 1 if a thread was damaged or has lost a message,
 * and prints what was found.
 */

import { AGENTS } from "../test/e2e/shared-servers.js";
import { libraryHost } from "../test/soak/library-host.js";
import type { SoakHost } from "../test/soak/run-soak.js";
import { runSoak, type Soak } from "../test/soak/run-soak.js";
import { servedHost } from "../test/soak/served-host.js";
import { startDevServer } from "./dev-server.js";

const turns = Number(process.env["SOAK_TURNS"] ?? 1_000);
const [form = "library"] = process.argv.slice(2);
if (form !== "library" && form !== "served") throw new Error(`Expected library or served, got ${form}.`);

const soakAt = (host: SoakHost, threadsAtOnce: number, turnsOfThread: number): Promise<Soak> =>
  runSoak({
    host,
    turns,
    turnsOfThread,
    threadsAtOnce,
    onReading: (reading) => console.log(`${reading.turns} turns: a heap of ${reading.heapInMegabytes} MB`),
  });

async function soakServed(): Promise<Soak> {
  const server = await startDevServer({ config: AGENTS });
  try {
    // Twice as many threads at once as the server has workers, because threads are checked between their turns. They
    // are short, because a development server writes all its threads to a file every few seconds.
    return await soakAt(servedHost(server.client), 20, 20);
  } finally {
    await server.stop();
  }
}

const { kinds, faults, readings, ...counts } = await (form === "served"
  ? soakServed()
  : soakAt(libraryHost(), 4, 50));
console.table(kinds);
console.table(counts);
for (const fault of faults) console.log(fault);
console.log(faults.length === 0 ? "No fault." : `${faults.length} faults.`);
process.exitCode = faults.length === 0 ? 0 : 1;
