/**
 * Kills processes in the middle of a turn, and prints what was lost: `npm run crashes`. It takes a minute for 50 kills.
 *
 * `CRASH_KILLS` is the number of kills for each database, durability and channel (default: 25). PostgreSQL takes part if
 * `DATABASE_URL` names a database. Words choose from the table: `npm run crashes -- sqlite postgres delta`. It ends with
 * 1 if anything was lost, and prints the ledger of that thread.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Crashes } from "../test/crash/check-ledger.js";
import { createTables } from "../test/crash/connect.js";
import type { Channel, Database, Durability } from "../test/crash/job.js";
import { runCrashes } from "../test/crash/run-crashes.js";

const kills = Number(process.env["CRASH_KILLS"] ?? 25);
const url = process.env["DATABASE_URL"];
const durabilities: readonly Durability[] = ["sync", "async", "exit"];
const channels: readonly Channel[] = ["full", "delta"];
const words = process.argv.slice(2);
/** The values that were named, or all of them. */
const chosen = <Value extends string>(values: readonly Value[]): readonly Value[] =>
  values.some((value) => words.includes(value)) ? values.filter((value) => words.includes(value)) : values;

interface Row extends Omit<Crashes, "faults"> {
  readonly database: string;
  readonly durability: Durability;
  readonly channel: Channel;
  readonly faults: number;
}

const folder = mkdtempSync(join(tmpdir(), "tether-crashes-"));
const databases: Record<Database["kind"], (name: string) => Database | Promise<Database>> = {
  memory: (name) => ({ kind: "memory", folder: mkdtempSync(join(folder, name)) }),
  sqlite: (name) => ({ kind: "sqlite", file: join(folder, `${name}.sqlite`) }),
  postgres: (name) => createTables(url ?? "", `tether_crashes_${process.pid}_${name}`),
};
const names = (["memory", "sqlite", "postgres"] as const).filter((name) => name !== "postgres" || url);
const unknown = words.filter(
  (word) => ![...names, ...durabilities, ...channels].some((name) => name === word),
);
if (unknown.length > 0)
  throw new Error(`Expected a database, a durability or a channel, got ${unknown.join()}.`);

const rows: Row[] = [];
for (const database of chosen(names)) {
  for (const channel of chosen(channels)) {
    for (const durability of chosen(durabilities)) {
      const crashes = await runCrashes({
        database: await databases[database](`${durability}_${channel}`),
        durability,
        messagesChannel: channel,
        kills,
        random: Math.random,
        onFault: (entries, { faults }) => {
          for (const entry of entries) console.log(JSON.stringify(entry));
          for (const fault of faults) console.log(fault);
        },
      });
      rows.push({ database, durability, channel, ...crashes, faults: crashes.faults.length });
      console.table(rows.slice(-1));
    }
  }
}
rmSync(folder, { recursive: true });
console.table(rows);
if (url === undefined) console.log("PostgreSQL was skipped: set `DATABASE_URL` to include it.");
process.exitCode = rows.some(({ faults }) => faults > 0) ? 1 : 0;
