/** The page with all results. */

import { judgeGoals, outcomeOf } from "./goals.js";
import { spreadText } from "./numbers.js";
import { type CaseResult, describeRun, perRound, type Results, spreadOf } from "./results.js";

const LEGEND = `Written by \`npm run bench\`. [README.md](README.md) says what each suite measures.

Each number is the median of several rounds, with the lowest and the highest of them. In a round, all contenders of a suite
take turns in one process. The ratio of a contender to the one that is marked is computed for each round, and is then
shown in the same way. Numbers of one table can be compared with each other. Numbers of different machines, or of
different days, cannot: compare their ratios.`;

export function pageOf(results: Results): string {
  const sections = results.suites.flatMap(({ name, date, isQuick, cases }) => [
    `## ${name}`,
    `${date}${isQuick ? ", with few rounds only" : ""}`,
    ...cases.flatMap((each) => [`### ${each.title}`, ...(each.notes ?? []), caseTable(each)]),
  ]);
  const parts = [
    "# Measurements",
    LEGEND,
    `Measured on ${describeRun(results)}.`,
    goalTable(results),
    ...sections,
  ];
  return `${parts.join("\n\n")}\n`;
}

/** The goals of the suites that have results. */
function goalTable(results: Results): string {
  const rows = judgeGoals(results)
    .filter(({ holds }) => holds !== undefined)
    .map((each) => `| ${each.title} | ${each.goal} | ${each.reached} | ${outcomeOf(each)} |`);
  return ["## Goals", "", "| | goal | reached | |", "| --- | ---: | ---: | --- |", ...rows].join("\n");
}

function caseTable({ unit, base, isMoreBetter, rounds }: CaseResult): string {
  const ofBase = rounds[base] ?? [];
  const rows = Object.entries(rounds).map(([name, values]) => {
    const ratio = spreadOf(perRound(values, ofBase, (one, other) => one / other));
    return `| ${name} | ${spreadText(spreadOf(values))} | ${name === base ? "**1**" : spreadText(ratio)} |`;
  });
  const head = `| | ${unit}${isMoreBetter ? ", more is better" : ""} | ratio |`;
  return [head, "| --- | ---: | ---: |", ...rows].join("\n");
}
