import { join } from "node:path";
import { expect, it } from "vitest";
import { DATABASE_URL } from "../support/savers.js";
import { readLedger, withChildren } from "./children.js";
import { createTables } from "./connect.js";
import type { Database, EntryOf } from "./job.js";

const TURNS = process.env["SLOW_TESTS"] === "1" ? 15 : 2;

const DATABASES: Readonly<Record<string, (folder: string) => Database | Promise<Database>>> = {
  SQLite: (folder) => ({ kind: "sqlite", file: join(folder, "threads.sqlite") }),
  ...(DATABASE_URL !== undefined && {
    PostgreSQL: () => createTables(DATABASE_URL ?? "", `tether_two_${process.pid}`),
  }),
};

it.each(Object.entries(DATABASES))(
  "Two processes at once on one thread of %s keep each message of a run that succeeded, and refuse the other runs",
  async (_, open) => {
    const entries = await withChildren(2, async (folder, children) => {
      const database = await open(folder);
      const ledger = join(folder, "ledger.jsonl");
      const thread = { database, ledger, threadId: "1", isSummarised: false, rounds: 1 } as const;
      const job = { ...thread, durability: "sync", messagesChannel: "full", killAt: undefined } as const;
      await Promise.all(
        children.map(async (each, row) => {
          for (let turn = 0; turn < TURNS; turn += 1) {
            const boot = 100 * row + turn;
            await each.run({ ...job, boot, text: `message ${boot}` }, undefined);
          }
        }),
      );
      await children[0].run({ ...job, boot: 1_000, text: "the end" }, undefined);
      return readLedger(ledger);
    });
    const errors = entries.filter((entry) => entry.kind === "error");
    expect(errors.filter(({ name }) => name !== "ThreadConflictError")).toEqual([]);
    expect(entries.flatMap((entry) => ("faults" in entry ? entry.faults : []))).toEqual([]);
    const results = entries.filter((entry): entry is EntryOf<"state" | "result"> => entry.kind === "result");
    expect(results.length + errors.length).toBe(2 * TURNS + 1);
    const final = results.at(-1)?.messages.map(({ key }) => key) ?? [];
    const lost = results.filter(({ boot }) => boot < 1_000 && !final.includes(`human message ${boot}`));
    expect(lost.map(({ boot }) => boot)).toEqual([]);
  },
);
