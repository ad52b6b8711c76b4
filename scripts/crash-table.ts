/**
 * Kills processes in the middle of a turn, and prints what was lost: `npm run crashes`. It takes a minute for 50 kills.
 *
 * `CRASH_KILLS` is the number of kills for each database and durability (default: 50). PostgreSQL takes part if
 * `DATABASE_URL` names a database. It ends with 1 if anything was lost, and prints the ledger of that thread.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Crashes } from "../test/crash/check-ledger.js";
import { createTables } from "../test/crash/connect.js";
import type { Database, Durability } from "../test/crash/job.js";
import { runCrashes } from "../test/crash/run-crashes.js";

const kills = Number(process.env["CRASH_KILLS"] ?? 50);
const url = process.env["DATABASE_URL"];
const durabilities: readonly Durability[] = ["sync", "async", "exit"];
const [onlyDatabase, onlyDurability] = process.argv.slice(2);

interface Row extends Omit<Crashes, "faults"> {
  readonly database: string;
  readonly durability: Durability;
  readonly faults: number;
}

const folder = mkdtempSync(join(tmpdir(), "tether-crashes-"));
const databases = {
  memory: async (durability: Durability): Promise<Database> => ({
    kind: "memory",
    folder: mkdtempSync(join(folder, durability)),
  }),
  sqlite: async (durability: Durability): Promise<Database> => ({
    kind: "sqlite",
    file: join(folder, `${durability}.sqlite`),
  }),
  ...(url !== undefined && {
    postgres: (durability: Durability) => createTables(url, `tether_crashes_${process.pid}_${durability}`),
  }),
};

const rows: Row[] = [];
for (const [name, create] of Object.entries(databases)) {
  if (onlyDatabase !== undefined && onlyDatabase !== name) continue;
  for (const durability of durabilities) {
    if (onlyDurability !== undefined && onlyDurability !== durability) continue;
    const crashes = await runCrashes({
      database: await create(durability),
      durability,
      kills,
      random: Math.random,
      onFault: (entries, { faults }) => {
        for (const entry of entries) console.log(JSON.stringify(entry));
        for (const fault of faults) console.log(fault);
      },
    });
    rows.push({ database: name, durability, ...crashes, faults: crashes.faults.length });
    console.table(rows.slice(-1));
  }
}
rmSync(folder, { recursive: true });
console.table(rows);
if (url === undefined) console.log("PostgreSQL was skipped: set `DATABASE_URL` to include it.");
process.exitCode = rows.some(({ faults }) => faults > 0) ? 1 : 0;
