/** The table of the README. */

import { highlightsOf } from "./highlights.js";
import { amount, spreadText } from "./numbers.js";
import { describeRun, type Results } from "./results.js";

export const BEGIN = "<!-- Measurements: written by `npm run bench`. -->";
export const END = "<!-- End of the measurements. -->";

export function tableOf(results: Results): string {
  const rows = highlightsOf(results).map(
    ({ title, ours, beside, unit, ourSpread, theirSpread, ratio }) =>
      `| ${title} | ${ours} | ${amount(ourSpread.median, unit)} | ${beside} | ${amount(theirSpread.median, unit)} | ${spreadText(ratio)} |`,
  );
  const head = ["| | ours | | beside | | times better |", "| --- | --- | ---: | --- | ---: | ---: |"];
  return `${[...head, ...rows].join("\n")}\n\nMeasured on ${describeRun(results)}.`;
}

/** The text with the table between its marks. */
export function withTable(text: string, table: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`Expected \`${BEGIN}\` and \`${END}\` in the text.`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${text.slice(end)}`;
}
