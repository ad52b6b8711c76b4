/** The table of the README. */

import { COLUMNS, describeRun, type Results, type SuiteResult } from "./results.js";

export const BEGIN = "<!-- Conformance: written by `npx tsx conformance/run.ts`. -->";
export const END = "<!-- End of the conformance table. -->";

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
  return `${lines.join("\n")}\n\nMeasured on ${describeRun(results)}.`;
}

export function cellOf(result: SuiteResult | null | undefined): string {
  return result == null ? "–" : `${result.passed}/${result.cases}`;
}

/** The text with the table between its marks. */
export function withTable(text: string, table: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`Expected \`${BEGIN}\` and \`${END}\` in the text.`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${text.slice(end)}`;
}
