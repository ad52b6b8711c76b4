/**
 * Scans many threads of a SQLite database with the command `doctor`, and prints the rate and the peak of the memory. Real
 * agents write a few threads, which are copied. Run it with `npx tsx bench/doctor.ts`, or with other sizes:
 * `npx tsx bench/doctor.ts 1000 10000`.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { runCommandLine } from "../src/doctor/command/run-command-line.js";
import { deploy } from "../test/support/deployment/deploy.js";
import { driveLocally } from "../test/support/deployment/local-driver.js";

const SIZES = [1_000, 10_000];
const ORIGINALS = 100;
/** Of a hundred. */
const BROKEN = 12;
const GRAPH = fileURLToPath(new URL("../test/fixtures/deployment/graphs.ts", import.meta.url));

interface Scan {
  readonly code: number;
  readonly seconds: number;
  readonly peakMegabytes: number;
  readonly written: number;
}

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

/** In a process of its own, whose memory is measured. */
async function scan(file: string): Promise<Scan> {
  let written = 0;
  const write = async (text: string): Promise<void> => {
    written += text.length;
  };
  const begin = performance.now();
  const code = await runCommandLine(
    ["doctor", "--sqlite", file, "--graph", `${GRAPH}:langchain`, "--format", "ndjson"],
    {
      output: { isTerminal: false, write },
      errors: { isTerminal: false, write: async (text) => void process.stderr.write(text) },
      readInput: async () => "",
      canAsk: false,
      ask: async () => "",
      environment: {},
      folder: process.cwd(),
      signal: new AbortController().signal,
      now: Date.now,
    },
  );
  const seconds = (performance.now() - begin) / 1000;
  return { code, seconds, peakMegabytes: process.resourceUsage().maxRSS / 1024, written };
}

const [first, ...rest] = process.argv.slice(2);
if (first === "scan") process.send?.(await scan(rest[0] ?? ""));
else {
  const sizes = first === undefined ? SIZES : [first, ...rest].map(Number);
  const folder = mkdtempSync(join(tmpdir(), "tether-doctor-bench-"));
  try {
    for (const size of sizes) {
      const file = join(folder, `${size}.sqlite`);
      await writeDatabase(file, size);
      const child = fork(fileURLToPath(import.meta.url), ["scan", file]);
      const [found]: Scan[] = (await once(child, "message")) as Scan[];
      if (found === undefined) throw new Error("The scan has ended without a result.");
      const rate = Math.round(size / found.seconds);
      const peak = Math.round(found.peakMegabytes);
      console.log(
        `${size} threads: ${rate} threads a second, at most ${peak} MB of memory, ${Math.round(found.written / 1000)} kB of findings, exit code ${found.code}`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
