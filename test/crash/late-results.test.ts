/** What came after the abort of a run is found after the death of the process that got it. */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { DATABASE_URL } from "../support/savers.js";
import { bundleProgram, Children, makeFolder } from "./children.js";
import { createTables } from "./connect.js";
import type { Database } from "./job.js";
import type { LateEntry, LateJob } from "./late-child.js";

/** A thread has this many processes that are killed, one after the other. Then one reads it. */
const MOMENTS: readonly LateJob["moment"][] = ["waits", "closed", "shown"];
const THREADS = Number(process.env["LATE_KILLS"] ?? 12) / MOMENTS.length;

const DATABASES: Readonly<Record<string, (folder: string) => Database | Promise<Database>>> = {
  SQLite: (folder) => ({ kind: "sqlite", file: join(folder, "threads.sqlite") }),
  ...(DATABASE_URL !== undefined && {
    PostgreSQL: () => createTables(DATABASE_URL ?? "", `tether_late_${process.pid}`),
  }),
};

const WAYS = (["graph", "middleware"] as const).flatMap((agent) =>
  (["async", "sync", "exit"] as const).flatMap((durability) =>
    (["full", "delta"] as const).map((messagesChannel) => ({ agent, durability, messagesChannel })),
  ),
);

it.each(Object.entries(DATABASES))(
  "Late results and shown texts survive their processes on %s",
  async (_, open) => {
    const folder = makeFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const database = await open(folder);
    const child = fileURLToPath(new URL("late-child.ts", import.meta.url));
    const children = new Children(await bundleProgram(folder, child));
    try {
      for (let thread = 0; thread < THREADS; thread += 1) {
        const way = WAYS[(thread * 5) % WAYS.length] as (typeof WAYS)[number];
        const ledger = join(folder, `${thread}.jsonl`);
        const job = { database, threadId: `${thread}`, ledger, ...way };
        const order = MOMENTS.map((__, index) => MOMENTS[(index + thread) % MOMENTS.length]);
        for (const [boot, moment] of order.entries()) await children.run({ ...job, boot, moment }, undefined);
        await children.run({ ...job, boot: 99, moment: "read" }, undefined);
        const entries = readFileSync(ledger, "utf8")
          .split("\n")
          .flatMap((line): LateEntry[] => (line === "" ? [] : [JSON.parse(line)]));
        const textsOf = (kind: LateEntry["kind"]) =>
          entries.flatMap((entry) => (entry.kind === kind ? entry.texts : []));
        const [returned, shown] = [textsOf("returned"), textsOf("shown")];
        expect([returned.length, shown.length], JSON.stringify(job)).toEqual([2, 1]);
        const whole = textsOf("thread");
        expect(
          [...returned, ...shown].map((text) => whole.filter((one) => one === text).length),
          JSON.stringify({ way, whole }),
        ).toEqual([1, 1, 1]);
        expect(textsOf("faults")).toEqual([]);
      }
    } finally {
      await children.close();
    }
  },
);
