import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DATABASE_URL } from "../support/savers.js";
import { bundleProgram, Children, makeFolder, startChild } from "./children.js";
import { createTables } from "./connect.js";
import { type FinishJob, type FinishReport, PLACES, type Place } from "./finish-job.js";
import type { Database } from "./job.js";

const COUNT = 20;
const placeOf = (index: number): Place => PLACES[index % PLACES.length] ?? "finished";
const THREADS = Array.from({ length: COUNT }, (_, index) => [`t${index}`, placeOf(index)] as const);
/** What each call of a thread ends with. */
const RESULTS: Readonly<Record<Place, readonly string[]>> = {
  model: ["paid", "seen"],
  tool: ["unknown", "seen"],
  unsaved: ["unknown", "seen"],
  "not-started": ["paid", "seen"],
  approval: [],
  finished: [],
};
const PAID = THREADS.filter(([, place]) => RESULTS[place].length > 0).map(([threadId]) => threadId);

let schemas = 0;
const DATABASES: Readonly<Record<string, (folder: string) => Database | Promise<Database>>> = {
  SQLite: (folder) => ({ kind: "sqlite", file: join(folder, "threads.sqlite") }),
  ...(DATABASE_URL !== undefined && {
    PostgreSQL: () => {
      schemas += 1;
      return createTables(DATABASE_URL ?? "", `tether_finish_${process.pid}_${schemas}`);
    },
  }),
};

async function open(kind: FinishJob["kind"], title: string) {
  const folder = makeFolder();
  const bundle = await bundleProgram(folder, join(import.meta.dirname, "finish-child.ts"));
  const rows = [new Children(bundle), new Children(bundle)] as const;
  onTestFinished(async () => {
    await Promise.all(rows.map((each) => each.close()));
    rmSync(folder, { recursive: true });
  });
  const ledger = join(folder, "ledger.txt");
  const database = await DATABASES[title]?.(folder);
  if (database === undefined) throw new Error("Expected a database.");
  const base = { kind, database, ledger, threads: THREADS, quietMs: 0, concurrency: 1 } as const;
  const job = (fields: Partial<FinishJob>): FinishJob => ({ ...base, task: "finish", ...fields });
  const run = (fields: Partial<FinishJob>, row: 0 | 1 = 0) =>
    rows[row].run(job(fields), undefined) as Promise<FinishReport>;
  const readPaid = () =>
    readFileSync(ledger, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(":")[0])
      .toSorted();
  return { run, job, readPaid, start: () => startChild(bundle) };
}

const kindsOf = (all: readonly { readonly threadId: string; readonly kind: string }[]) =>
  Object.fromEntries(all.map(({ threadId, kind }) => [threadId, kind]));
const forThreads = (make: (place: Place) => string | readonly string[] | undefined) =>
  Object.fromEntries(
    THREADS.flatMap(([threadId, place]) => {
      const made = make(place);
      return made === undefined ? [] : [[threadId, made]];
    }),
  );

describe.each(["createAgentGraph", "createAgent"] as const)(
  "Threads of %s whose process was killed",
  (kind) => {
    it.each(Object.keys(DATABASES))("are listed and finished by another process over %s", async (title) => {
      const { run, readPaid } = await open(kind, title);
      await run({ task: "die" });
      // Nobody knows yet that the process is dead.
      const early = await run({ quietMs: Number.MAX_SAFE_INTEGER });
      expect(kindsOf(early.found)).toEqual(
        forThreads((place) =>
          place === "finished" ? undefined : place === "approval" ? "waiting" : "going-on",
        ),
      );
      const { found, outcomes, results } = await run({ concurrency: 4 });
      expect(kindsOf(found)).toEqual(
        forThreads((place) =>
          place === "finished" ? undefined : place === "approval" ? "waiting" : "stopped",
        ),
      );
      const outcomesOf = (place: Place) =>
        found.find(({ threadId }) => threadId === THREADS.find(([, one]) => one === place)?.[0])?.calls ?? [];
      expect(outcomesOf("tool").map(({ tool, outcome }) => [tool, outcome])).toEqual([
        ["pay", "unknown"],
        ["look", "returned"],
      ]);
      expect(outcomesOf("not-started").map(({ outcome }) => outcome)).toEqual(["not-started", "not-started"]);
      expect(outcomesOf("approval").map(({ outcome }) => outcome)).toEqual(["asked"]);
      expect(kindsOf(outcomes)).toEqual(
        forThreads((place) =>
          place === "finished" ? undefined : place === "approval" ? "waiting" : "finished",
        ),
      );
      expect(results).toEqual(forThreads((place) => RESULTS[place]));
      const again = await run({});
      expect(kindsOf(again.found)).toEqual(
        forThreads((place) => (place === "approval" ? "waiting" : undefined)),
      );
      expect(again.results).toEqual(results);
      expect(readPaid()).toEqual(PAID.toSorted());
    });

    it.skipIf(DATABASE_URL === undefined)("are finished once by two processes with a lock", async () => {
      const { run, readPaid } = await open(kind, "PostgreSQL");
      await run({ task: "die" });
      const reports = await Promise.all([run({ concurrency: 3 }, 0), run({ concurrency: 3 }, 1)]);
      const failed = reports.flatMap(({ outcomes }) => outcomes.filter((one) => one.kind === "failed"));
      expect(failed).toEqual([]);
      const last = await run({});
      expect(last.results).toEqual(forThreads((place) => RESULTS[place]));
      expect(readPaid()).toEqual(PAID.toSorted());
    });

    it.skipIf(DATABASE_URL === undefined)("are skipped while a living process holds their lock", async () => {
      const { run, job, readPaid, start } = await open(kind, "PostgreSQL");
      const held = THREADS.filter(([, place]) => place === "tool" || place === "model");
      const dead = THREADS.filter((thread) => !held.includes(thread));
      const holder = await start();
      const holding = once(holder, "message");
      holder.send(job({ task: "hold", threads: held }));
      expect((await holding)[0]).toBe("holding");
      await run({ task: "die", threads: dead });
      const { found, outcomes } = await run({});
      for (const [threadId] of held) {
        expect(found.find((thread) => thread.threadId === threadId)?.kind).toBe("going-on");
        expect(outcomes.find((outcome) => outcome.threadId === threadId)).toMatchObject({
          kind: "skipped",
          reason: "busy",
        });
      }
      const ended = once(holder, "message");
      holder.send("go on");
      const { results } = (await ended)[0] as FinishReport;
      expect(results).toEqual(Object.fromEntries(held.map(([threadId]) => [threadId, ["paid", "seen"]])));
      const last = await run({});
      expect(kindsOf(last.found)).toEqual(
        forThreads((place) => (place === "approval" ? "waiting" : undefined)),
      );
      expect(readPaid()).toEqual(PAID.toSorted());
    });
  },
);
