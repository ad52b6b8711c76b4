/**
 * The command `doctor` over a SQLite database with many threads, beside a pass that only loads the last checkpoint of
 * each. Real agents write a few threads, which are copied.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { runCommandLine } from "../../src/doctor/command/run-command-line.js";
import { serveInspector } from "../../src/inspector/serve.js";
import { deploy } from "../../test/support/deployment/deploy.js";
import { driveLocally } from "../../test/support/deployment/driver.js";
import { LOADING, OURS } from "../contenders.js";
import { written } from "../histories.js";
import { type CaseSpec, measureRounds, type Suite, timeOf } from "../suite.js";

const SIZES = [400];
const ORIGINALS = 100;
/** Of a hundred. */
const BROKEN = 12;
/** The exit code of a scan that has found something. */
const FINDINGS = 1;
const GRAPH = fileURLToPath(new URL("../../test/fixtures/deployment/graphs.ts", import.meta.url));

async function writeDatabase(file: string, size: number): Promise<void> {
  const saver = SqliteSaver.fromConnString(file);
  const open = driveLocally("langchain", saver);
  await deploy({
    threads: ORIGINALS,
    broken: BROKEN,
    waiting: 2,
    agents: ["langchain"],
    open: (_, threadId) => open(threadId),
  });
  for (const table of ["checkpoints", "writes"]) {
    const columns: string[] = saver.db
      .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE name <> 'thread_id'`)
      .all()
      .map((row: unknown) => Object(row).name);
    const copy = saver.db.prepare(
      `INSERT INTO ${table} (thread_id, ${columns.join()}) SELECT thread_id || ?, ${columns.join()} FROM ${table} WHERE thread_id NOT LIKE '%+%'`,
    );
    saver.db.transaction(() => {
      for (let count = 1; count < size / ORIGINALS; count += 1) copy.run(`+${count}`);
    })();
  }
  saver.db.close();
}

/** Threads a second. */
async function scan(file: string, size: number): Promise<number> {
  let errors = "";
  const taken = await timeOf(async () => {
    const code = await runCommandLine(
      ["doctor", "--sqlite", file, "--graph", `${GRAPH}:langchain`, "--format", "json"],
      {
        output: { isTerminal: false, write: async () => {} },
        errors: {
          isTerminal: false,
          write: async (text) => {
            errors += text;
          },
        },
        readInput: async () => "",
        canAsk: false,
        ask: async () => "",
        environment: {},
        folder: process.cwd(),
        serveInspector,
        signal: new AbortController().signal,
        now: Date.now,
      },
    );
    if (code !== FINDINGS)
      throw new Error(`Expected the doctor to end with ${FINDINGS}, got ${code}: ${errors}`);
  });
  return (size / taken) * 1_000;
}

/** Threads a second. */
async function load(file: string, size: number): Promise<number> {
  const saver = SqliteSaver.fromConnString(file);
  const taken = await timeOf(async () => {
    const ids: unknown[] = saver.db.prepare("SELECT DISTINCT thread_id FROM checkpoints").pluck().all();
    // Some threads are broken in such a way that their saver cannot read them.
    for (const id of ids) await saver.getTuple({ configurable: { thread_id: id } }).catch(() => {});
  });
  saver.db.close();
  return (size / taken) * 1_000;
}

export const doctor: Suite = {
  name: "doctor",
  measure: async (conditions) => {
    const folder = mkdtempSync(join(tmpdir(), "tether-bench-"));
    const cases: CaseSpec[] = [];
    for (const size of SIZES) {
      const file = join(folder, `${size}.sqlite`);
      await writeDatabase(file, size);
      const title = `Scan ${written(size)} threads`;
      const contenders = { [OURS]: () => scan(file, size), [LOADING]: () => load(file, size) };
      cases.push({ id: `${size}`, title, unit: "threads/s", isMoreBetter: true, base: LOADING, contenders });
    }
    const results = await measureRounds(cases, { ...conditions, rounds: 5 });
    rmSync(folder, { recursive: true });
    return results;
  },
};
