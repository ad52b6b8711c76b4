/** The rows of the README: one of each kind. All results are in `results.md`. */

import { CREATE_AGENT, DELTA_SERIALIZER, FULL, OURS, WITH_PATCH, WITH_SUMMARY } from "../contenders.js";
import { perRound, type Results, roundsOf, type Spread, spreadOf } from "./results.js";

interface Row {
  readonly title: string;
  /** `SUITE/CASE`. */
  readonly path: string;
  readonly ours: string;
  readonly beside: string;
}

const ROWS: readonly Row[] = [
  { title: "A turn at 100 messages, default settings", path: "turn/100", ours: FULL, beside: WITH_PATCH },
  { title: "A turn at 1,200 messages, default settings", path: "turn/1200", ours: FULL, beside: WITH_PATCH },
  {
    title: "A turn at 10,000 messages, PostgreSQL",
    path: "turn-postgres/10000",
    ours: DELTA_SERIALIZER,
    beside: WITH_PATCH,
  },
  {
    title: "Bytes of a turn at 1,200 messages",
    path: "bytes/1200",
    ours: DELTA_SERIALIZER,
    beside: WITH_PATCH,
  },
  {
    title: "Input tokens at their price, cached a tenth",
    path: "tokens/summaries/all/tenth",
    ours: OURS,
    beside: WITH_SUMMARY,
  },
  { title: "A run with one tool call", path: "short-run/tool-2-memory", ours: OURS, beside: CREATE_AGENT },
];

export interface Highlight extends Row {
  readonly unit: string;
  readonly ourSpread: Spread;
  readonly theirSpread: Spread;
  /** Above 1: ours is the better one, so many times. */
  readonly ratio: Spread;
}

/** Those that were measured. */
export function highlightsOf(results: Results): readonly Highlight[] {
  return ROWS.flatMap((row) => {
    const ours = roundsOf(results, row.path, row.ours);
    const theirs = roundsOf(results, row.path, row.beside);
    const found = results.suites
      .flatMap(({ name, cases }) => cases.map((each) => ({ path: `${name}/${each.id}`, ...each })))
      .find(({ path }) => path === row.path);
    if (ours === undefined || theirs === undefined || found === undefined) return [];
    const ratio = found.isMoreBetter
      ? perRound(ours, theirs, (one, other) => one / other)
      : perRound(theirs, ours, (one, other) => one / other);
    return {
      ...row,
      unit: found.unit,
      ourSpread: spreadOf(ours),
      theirSpread: spreadOf(theirs),
      ratio: spreadOf(ratio),
    };
  });
}
