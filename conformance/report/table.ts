/** The table of the README. */

import type { Marks } from "../../scripts/generated/with-block.js";
import { COLUMNS, daysOf, type Results, type SuiteResult, versionsOf } from "./results.js";

export const MARKS: Marks = [
  "<!-- Conformance: written by `npx tsx conformance/run.ts`. -->",
  "<!-- End of the conformance table. -->",
];

/** One column of scores, and names that are not code: a phone cuts what is too wide. */
export function tableOf(results: Results): string {
  const lines = results.implementations.map(({ title, suites }) => {
    const scores = Object.entries(COLUMNS).flatMap(([name, about]) =>
      suites[name] === null ? [] : [`${cellOf(suites[name])} ${about}`.replaceAll(" ", "&nbsp;")],
    );
    return `| ${title} | ${scores.join(", ")} |`;
  });
  const table = ["|  | cases passed |", "| --- | --- |", ...lines].join("\n");
  return `${table}\n\n${daysOf(results)} ${versionsOf(results)}`;
}

export function cellOf(result: SuiteResult | null | undefined): string {
  if (result === undefined) return "not run";
  return result === null ? "–" : `${result.passed}/${result.cases}`;
}
