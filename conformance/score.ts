/** Scores one implementation, in a process of its own: `score.ts NAME [TEXT]`. `run.ts` starts it. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import pLimit from "p-limit";
import { ADAPTERS } from "./adapters.js";
import type { ImplementationResult, SuiteResult } from "./report/results.js";
import { type Outcome, runCase, type Suite } from "./suite.js";
import { SLOW_SUITES, SUITES } from "./suites.js";

const CACHE = new URL("node_modules/.cache/", import.meta.url);
const [name, shown] = process.argv.slice(2);
const adapter = ADAPTERS.find((candidate) => candidate.name === name);
if (adapter === undefined) throw new Error(`Expected the name of an implementation, got \`${name}\`.`);

// Some clients leave the error of a broken stream to nobody. The case still ends with its own outcome.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});
// Warnings of the libraries say nothing about a case.
for (const method of ["warn", "error", "debug", "info"] as const) console[method] = () => {};

async function score(suite: Suite, wanted: string | undefined): Promise<SuiteResult | undefined> {
  if (adapter === undefined || !suite.applies(adapter)) return undefined;
  const isWanted = (id: string) => wanted === undefined || `${suite.name}/${id}`.includes(wanted);
  const { cases, concurrency = 1, close } = await suite.open(adapter);
  const limit = pLimit(concurrency);
  const outcomes = await Promise.all(
    cases
      .filter(({ id }) => isWanted(id))
      .map((one) => limit(async () => ({ one, outcome: await runCase(one) }))),
  );
  await close();
  if (wanted !== undefined)
    for (const { one, outcome } of outcomes) show(`${suite.name}/${one.id}`, outcome, one.source);
  const applied = outcomes.filter(({ outcome }) => outcome.kind !== "dash");
  return {
    cases: applied.length,
    passed: applied.filter(({ outcome }) => outcome.kind === "pass").length,
    faults: applied.flatMap(({ one, outcome }) =>
      outcome.kind === "fault"
        ? { id: one.id, reason: outcome.reason, ...(one.source !== undefined && { source: one.source }) }
        : [],
    ),
  };
}

function show(id: string, outcome: Outcome, source: string | undefined): void {
  console.log(`\n${adapter?.title}: ${id}: ${outcome.kind}`);
  if (source !== undefined) console.log(`source: ${source}`);
  if (outcome.kind !== "fault") return;
  const print = (value: unknown) =>
    inspect(value, { depth: 12, breakLength: 110, maxStringLength: 400, maxArrayLength: 60 });
  console.log(outcome.reason);
  console.log(`input: ${print(outcome.input)}`);
  console.log(`output: ${print(outcome.output)}`);
}

function versionOf(name: string): string {
  const own = name === "langgraph-tether" ? "../package.json" : `node_modules/${name}/package.json`;
  return JSON.parse(readFileSync(new URL(own, import.meta.url), "utf8")).version;
}

const suites: Record<string, SuiteResult | null> = {};
for (const suite of /^(?:kills|summaries)/.test(shown ?? "") ? SLOW_SUITES : SUITES) {
  const result = await score(suite, shown);
  suites[suite.name] = result === undefined || result.cases === 0 ? null : result;
  if (shown === undefined && result !== undefined)
    console.log(`${adapter.title}, ${suite.title}: ${result.passed} of ${result.cases}`);
}
if (shown === undefined) {
  const result: ImplementationResult = {
    name: adapter.name,
    title: adapter.title,
    date: new Date().toISOString().slice(0, 10),
    versions: Object.fromEntries(adapter.packages.map((each) => [each, versionOf(each)])),
    suites,
  };
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(fileURLToPath(new URL(`${adapter.name}.json`, CACHE)), JSON.stringify(result));
}
// Something that a case has given up may still wait.
process.exit(0);
