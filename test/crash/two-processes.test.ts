import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DATABASE_URL } from "../support/savers.js";
import { readLedger, withChildren } from "./children.js";
import { createTables } from "./connect.js";
import type { Database, EntryOf, Job } from "./job.js";

const TURNS = process.env["SLOW_TESTS"] === "1" ? 15 : 2;

const folder = mkdtempSync(join(tmpdir(), "tether-two-"));
const DATABASES: readonly { title: string; isThere: boolean; open: () => Promise<Database> }[] = [
  {
    title: "SQLite",
    isThere: true,
    open: async () => ({ kind: "sqlite", file: join(folder, "threads.sqlite") }),
  },
  {
    title: "PostgreSQL",
    isThere: DATABASE_URL !== undefined,
    open: () => createTables(DATABASE_URL ?? "", `tether_two_${process.pid}`),
  },
];

describe.each(DATABASES)("Two processes at once on one thread of $title", ({ isThere, open }) => {
  it.skipIf(!isThere)("keep each message of a run that succeeded, and refuse the other runs", async () => {
    const database = await open();
    const entries = await withChildren(2, async (ledgers, children) => {
      const ledger = join(ledgers, "ledger.jsonl");
      const job = { database, ledger, threadId: "1", isSummarised: false, rounds: 1 } as const;
      const more: Pick<Job, "durability" | "killAt"> = { durability: "sync", killAt: undefined };
      await Promise.all(
        children.map(async (each, row) => {
          for (let turn = 0; turn < TURNS; turn += 1) {
            const boot = 100 * row + turn;
            await each.run({ ...job, ...more, boot, text: `message ${boot}` }, undefined);
          }
        }),
      );
      await children[0].run({ ...job, ...more, boot: 1_000, text: "the end" }, undefined);
      return readLedger(ledger);
    });
    rmSync(folder, { recursive: true, force: true });
    const errors = entries.filter((entry) => entry.kind === "error");
    expect(errors.filter(({ name }) => name !== "ThreadConflictError")).toEqual([]);
    expect(entries.flatMap((entry) => ("faults" in entry ? entry.faults : []))).toEqual([]);
    const results = entries.filter((entry): entry is EntryOf<"state" | "result"> => entry.kind === "result");
    expect(results.length + errors.length).toBe(2 * TURNS + 1);
    const final = results.at(-1)?.messages.map(({ key }) => key) ?? [];
    const lost = results.filter(({ boot }) => boot < 1_000 && !final.includes(`human message ${boot}`));
    expect(lost.map(({ boot }) => boot)).toEqual([]);
  });
});
