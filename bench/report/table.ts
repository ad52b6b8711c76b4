/** The table of the README. */

import { FULL, OURS } from "../contenders.js";
import { highlightsOf } from "./highlights.js";
import { amount, spreadText } from "./numbers.js";
import { describeRun, type Results } from "./results.js";

export const BEGIN = "<!-- Measurements: written by `npm run bench`. -->";
export const END = "<!-- End of the measurements. -->";

/** Four narrow columns: a phone cuts what is too wide. What is compared stands below the title, in small words. */
export function tableOf(results: Results): string {
  const rows = highlightsOf(results).map(
    ({ title, ours, beside, unit, ourSpread, theirSpread, ratio }) =>
      `| ${title}<br><sub>${comparison(ours, beside)}</sub> | ${amount(ourSpread.median, unit)} | ${amount(theirSpread.median, unit)} | ${spreadText(ratio)} |`,
  );
  const head = ["| | ours | theirs | times better |", "| --- | ---: | ---: | ---: |"];
  return `${[...head, ...rows].join("\n")}\n\nMeasured on ${describeRun(results)}.`;
}

function comparison(ours: string, beside: string): string {
  const theirs = beside.replace("summarizationMiddleware", "summaries");
  // The titles of the rows name the default settings.
  if (ours === FULL || ours === OURS) return `beside ${theirs}`;
  return `${ours.replace("messageSerializer", "serializer")}, beside ${theirs}`;
}

/** The text with the table between its marks. */
export function withTable(text: string, table: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`Expected \`${BEGIN}\` and \`${END}\` in the text.`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${text.slice(end)}`;
}
