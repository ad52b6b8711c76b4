/**
 * How long the first import takes in a new process: the package as it is built, beside LangGraph alone, which it needs.
 * Prints medians; the runs take turns, so that a busy moment hits all of them.
 */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const RUNS = 15;
const BASE = "@langchain/langgraph";
const SPECIFIERS = [BASE, "langgraph-tether", "langgraph-tether/history"] as const;
type Specifier = (typeof SPECIFIERS)[number];

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const runFile = promisify(execFile);

/** In milliseconds, without the start of Node itself. */
async function timeImport(specifier: Specifier): Promise<number> {
  const script = `
    const start = performance.now();
    await import("${specifier}");
    console.log(performance.now() - start);`;
  // The package finds itself by its name, in `dist`.
  const { stdout } = await runFile(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: ROOT,
  });
  return Number(stdout);
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

// The files are read from the disk once before anything is measured.
for (const specifier of SPECIFIERS) await timeImport(specifier);

const times = new Map<Specifier, number[]>(SPECIFIERS.map((specifier) => [specifier, []]));
for (let run = 0; run < RUNS; run += 1) {
  for (const specifier of SPECIFIERS) times.get(specifier)?.push(await timeImport(specifier));
}

const base = median(times.get(BASE) ?? []);
console.log(`The first import in a new process, median of ${RUNS} processes.`);
console.table(
  SPECIFIERS.map((specifier) => {
    const time = median(times.get(specifier) ?? []);
    return {
      import: specifier,
      ms: Math.round(time),
      [`times ${BASE}`]: Number((time / base).toFixed(2)),
    };
  }),
);
