/** The table of the README. */

import type { Marks } from "../../scripts/generated/with-block.js";
import { COLUMNS, daysOf, type Results, type SuiteResult, versionsOf } from "./results.js";

export const MARKS: Marks = [
  "<!-- Conformance: written by `npx tsx conformance/run.ts`. -->",
  "<!-- End of the conformance table. -->",
];

export function tableOf(results: Results): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const names = Object.keys(COLUMNS);
  const lines = [
    row(["", ...Object.values(COLUMNS)]),
    row(["---", ...names.map(() => "---:")]),
    ...results.implementations.map(({ title, suites }) =>
      row([`\`${title}\``, ...names.map((name) => cellOf(suites[name]))]),
    ),
  ];
  return `${lines.join("\n")}\n\n${daysOf(results)} ${versionsOf(results)}`;
}

export function cellOf(result: SuiteResult | null | undefined): string {
  if (result === undefined) return "not run";
  return result === null ? "–" : `${result.passed}/${result.cases}`;
}
