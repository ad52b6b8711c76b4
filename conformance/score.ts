/** Scores one implementation, in a process of its own: `score.ts NAME SUITES [TEXT]`. `run.ts` starts it. */

import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import pLimit from "p-limit";
import { ADAPTERS } from "./adapters.js";
import { COLUMNS, type SuiteResult } from "./report/results.js";
import { storeSuite } from "./report/stored-results.js";
import { type Case, type Outcome, runCase, type Suite } from "./suite.js";
import { SUITES } from "./suites.js";

const [name, suiteNames = "", shown] = process.argv.slice(2);
const adapter = ADAPTERS.find((candidate) => candidate.name === name);
if (adapter === undefined) throw new Error(`Expected the name of an implementation, got \`${name}\`.`);

// Some clients leave the error of a broken stream to nobody. The case still ends with its own outcome.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});
// Warnings of the libraries say nothing about a case.
for (const method of ["warn", "error", "debug", "info"] as const) console[method] = () => {};

interface Scored {
  readonly one: Case;
  readonly outcome: Outcome;
}

/** The outcomes of the cases that are wanted. A suite without such a case is not opened for long. */
async function score(suite: Suite): Promise<readonly Scored[]> {
  if (adapter === undefined || !suite.applies(adapter)) return [];
  const { cases, concurrency = 1, close } = await suite.open(adapter);
  const isWanted = ({ id }: Case) => shown === undefined || `${suite.name}/${id}`.includes(shown);
  const limit = pLimit(concurrency);
  const outcomes = await Promise.all(
    cases.filter(isWanted).map((one) => limit(async () => ({ one, outcome: await runCase(one) }))),
  );
  await close();
  return outcomes;
}

function summarize(scored: readonly Scored[]): SuiteResult | null {
  const applied = scored.filter(({ outcome }) => outcome.kind !== "dash");
  if (applied.length === 0) return null;
  return {
    date: new Date().toISOString().slice(0, 10),
    cases: applied.length,
    passed: applied.filter(({ outcome }) => outcome.kind === "pass").length,
    faults: applied.flatMap(({ one: { id, source }, outcome }) =>
      outcome.kind === "fault" ? { id, reason: outcome.reason, ...(source !== undefined && { source }) } : [],
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

const about = {
  name: adapter.name,
  title: adapter.title,
  versions: Object.fromEntries(adapter.packages.map((each) => [each, versionOf(each)])),
};
const order = ADAPTERS.map((each) => each.name);
/** `--show "windows/openai: …"` needs no other suite. */
const isAsked = (suite: Suite) =>
  shown === undefined || !shown.includes("/") || shown.startsWith(`${suite.name}/`);
try {
  for (const suite of SUITES.filter((each) => suiteNames.split(",").includes(each.name) && isAsked(each))) {
    const scored = await score(suite);
    if (shown !== undefined) {
      for (const { one, outcome } of scored) show(`${suite.name}/${one.id}`, outcome, one.source);
      continue;
    }
    const result = summarize(scored);
    storeSuite(about, suite.name, result, order);
    if (result !== null)
      console.log(`${adapter.title}, ${COLUMNS[suite.name]}: ${result.passed} of ${result.cases}`);
  }
} catch (error) {
  console.log(error);
  process.exit(1);
}
// Something that a case has given up may still wait.
process.exit(0);
