/** Writes what is made of the results: the page with all of them, the table of the README, and the chart. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chartOf } from "./chart.js";
import { pageOf } from "./page.js";
import type { Results, SuiteResult } from "./results.js";
import { tableOf, withTable } from "./table.js";

const fileAt = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const RESULTS = fileAt("../results.json");
const PAGE = fileAt("../results.md");
const CHART = fileAt("../../docs/pictures/measurements.svg");
const README = fileAt("../../README.md");

export function readResults(): Results {
  return existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : { suites: [] };
}

/** @param order The names of the suites, as they stand in the results. Others are dropped. */
export function addResult(measured: SuiteResult, order: readonly string[]): void {
  const all = [...readResults().suites.filter(({ name }) => name !== measured.name), measured];
  const known = all.filter(({ name }) => order.includes(name));
  const suites = known.toSorted((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
  const text = JSON.stringify({ suites }, undefined, 2);
  // The rounds of a contender are one line.
  const lines = text.replaceAll(/\[\s+([\d.,\se+-]+?)\s+\]/g, (_, numbers: string) => {
    return `[${numbers.replaceAll(/\s+/g, " ")}]`;
  });
  writeFileSync(RESULTS, `${lines}\n`);
}

export function writeReports(): void {
  const results = readResults();
  writeFileSync(PAGE, pageOf(results));
  writeFileSync(CHART, chartOf(results));
  writeFileSync(README, withTable(readFileSync(README, "utf8"), tableOf(results)));
}
