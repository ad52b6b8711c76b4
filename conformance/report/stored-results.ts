/** Keeps the results, suite by suite, so that a run that is stopped keeps what it has. */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ImplementationResult, Results, SuiteResult } from "./results.js";

export const RESULTS = fileURLToPath(new URL("../results.json", import.meta.url));
/** The suites that the current run has finished. It is there as long as the run is not complete. */
const FINISHED = fileURLToPath(new URL("../node_modules/.cache/conformance-run.json", import.meta.url));

type Finished = Readonly<Record<string, readonly string[]>>;

const readJson = (path: string): unknown =>
  existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;

export const readResults = (): Results =>
  (readJson(RESULTS) as Results | undefined) ?? { implementations: [] };

const readFinished = (): Finished => (readJson(FINISHED) as Finished | undefined) ?? {};

export function finishedSuites(implementation: string): readonly string[] {
  return readFinished()[implementation] ?? [];
}

export function forgetRun(): void {
  rmSync(FINISHED, { force: true });
}

/** Stores the result of one suite; null if no case of it applies. */
export function storeSuite(
  about: Omit<ImplementationResult, "suites">,
  suite: string,
  result: SuiteResult | null,
  order: readonly string[],
): void {
  const merged = mergeSuite(readResults(), about, suite, result, order);
  writeFileSync(RESULTS, `${JSON.stringify(merged, undefined, 2)}\n`);
  const finished = readFinished();
  mkdirSync(dirname(FINISHED), { recursive: true });
  const own = [...(finished[about.name] ?? []), suite];
  writeFileSync(FINISHED, JSON.stringify({ ...finished, [about.name]: own }));
}

/** @param order The names of the implementations, as they stand in the table. Others are left out. */
function mergeSuite(
  { implementations }: Results,
  about: Omit<ImplementationResult, "suites">,
  suite: string,
  result: SuiteResult | null,
  order: readonly string[],
): Results {
  const former = implementations.find(({ name }) => name === about.name);
  // Results of other versions say nothing about these.
  const isSame = JSON.stringify(former?.versions) === JSON.stringify(about.versions);
  const scored = { ...about, suites: { ...(isSame ? former?.suites : {}), [suite]: result } };
  const all = [...implementations.filter(({ name }) => name !== about.name), scored];
  return {
    implementations: order.flatMap((name) => all.find((each) => each.name === name) ?? []),
  };
}
