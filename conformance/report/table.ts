/** The table of the README. */

import type { Marks } from "../../scripts/generated/with-block.js";
import { daysOf, type Results, type SuiteName, type SuiteResult, versionsOf } from "./results.js";

export const MARKS: Marks = [
  "<!-- Conformance: written by `npx tsx conformance/run.ts`. -->",
  "<!-- End of the conformance table. -->",
];

/** Those that can be compared in all kinds: graphs of LangGraph. A phone has room for a letter at the head of a column. */
const COMPARED = {
  "tether-graph": "createAgentGraph",
  "tether-middleware": "createAgent + tetherMiddleware",
  "create-agent": "createAgent",
  "create-agent-summary": "createAgent + summarizationMiddleware",
  deepagents: "deepagents",
} as const satisfies Readonly<Record<string, string>>;
const LETTERS = "ABCDEFGH";

/** The kinds of cases, as a reader calls them who does not know the suites. */
const KINDS = {
  histories: "broken histories",
  cuts: "cut threads",
  updates: "changed threads",
  streams: "broken streams",
  refusals: "refused requests",
  summaries: "summaries",
  windows: "full windows",
  server: "cancelled runs",
  kills: "killed processes",
  aborts: "messages right after a cancel",
  resumes: "resumed runs",
  repeats: "jobs sent again",
  keys: "other state keys",
  nested: "agents in a graph",
  sound: "sound threads unchanged",
} as const satisfies Readonly<Record<SuiteName, string>>;

/** How many of a hundred cases each passes: the numbers of its cases differ. */
export function tableOf(results: Results): string {
  const titles = Object.entries(COMPARED).map(([name, title], index) => ({
    name,
    title,
    letter: LETTERS[index],
  }));
  const implementations = titles.flatMap(
    ({ name }) => results.implementations.find((each) => each.name === name) ?? [],
  );
  const lines = Object.entries(KINDS).map(([suite, kind]) => {
    const shares = titles.map(({ name }) =>
      shareOf(implementations.find((each) => each.name === name)?.suites[suite]),
    );
    return `| ${[kind, ...shares].join(" | ")} |`;
  });
  const legend = titles.map(({ letter, title }) => `**${letter}** ${title}`);
  const head = `| % passed | ${titles.map(({ letter }) => letter).join(" | ")} |`;
  const rule = `| --- |${" ---: |".repeat(titles.length)}`;
  const source = `${daysOf({ implementations })} ${versionsOf({ implementations })}`;
  return [`${legend.join(", ")}.`, [head, rule, ...lines].join("\n"), source].join("\n\n");
}

/** Only what passes all cases has "all", and only what passes none has 0. */
function shareOf(result: SuiteResult | null | undefined): string {
  if (result == null) return cellOf(result);
  const { passed, cases } = result;
  if (passed === cases) return "all";
  return passed === 0 ? "0" : String(Math.min(99, Math.max(1, Math.round((100 * passed) / cases))));
}

export function cellOf(result: SuiteResult | null | undefined): string {
  if (result === undefined) return "not run";
  return result === null ? "–" : `${result.passed}/${result.cases}`;
}
