/** Measures one suite, in a process of its own: `measure.ts NAME FILE [--quick]`. `run.ts` starts it. */

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { assertOneCopy } from "./one-copy.js";
import type { SuiteResult } from "./report/results.js";
import { SUITES } from "./suites.js";

const { values, positionals } = parseArgs({
  options: { quick: { type: "boolean" } },
  allowPositionals: true,
});
const [name, file] = positionals;
const suite = SUITES.find((candidate) => candidate.name === name);
if (suite === undefined || file === undefined)
  throw new Error(`Expected the name of a suite and a file, got \`${positionals.join(" ")}\`.`);
assertOneCopy();

/** The packages that results name. */
const PACKAGES = ["@langchain/core", "@langchain/langgraph", "langchain", "deepagents"];
const require = createRequire(import.meta.url);

function versionOf(packageName: string): string {
  // Some packages do not export their `package.json`, so it is looked up in the folders that Node looks into.
  for (const folder of require.resolve.paths(packageName) ?? []) {
    try {
      return JSON.parse(readFileSync(`${folder}/${packageName}/package.json`, "utf8")).version;
    } catch {}
  }
  throw new Error(`Expected ${packageName} to be installed.`);
}

function describeMachine(): string {
  const [first] = cpus();
  const processor = `${cpus().length} × ${first?.model.trim() || process.arch}`;
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  return `${processor}, ${memory}, ${process.platform}, Node ${process.versions.node.split(".")[0]}`;
}

const begin = performance.now();
const seconds = () => `${Math.round((performance.now() - begin) / 1000)} s`;
const note = (text: string): void => void process.stderr.write(`${name}: ${text} (${seconds()})\n`);
// A fault of an agent says so by an error. What libraries print besides would hide the progress.
for (const method of ["warn", "error", "debug", "info", "log"] as const) console[method] = () => {};

const isQuick = values.quick === true;
const cases = await suite.measure({ isQuick, note });
const result: SuiteResult = {
  name: suite.name,
  date: new Date().toISOString().slice(0, 10),
  machine: describeMachine(),
  versions: Object.fromEntries(PACKAGES.map((each) => [each, versionOf(each)])),
  ...(isQuick && { isQuick }),
  cases,
};
writeFileSync(file, JSON.stringify(result));
note("done");
// Connections that a peer leaves open would keep the process.
process.exit(0);
