/** The rows of the README and of the chart. All of them are in `results.md`. */

import * as contenders from "../contenders.js";
import { perRound, type Results, roundsOf, type Spread, spreadOf } from "./results.js";

const {
  ARCHIVE_DELTA_SERIALIZER,
  CREATE_AGENT,
  DEEP_AGENT,
  DELTA_SERIALIZER,
  FULL,
  OURS,
  PATCH,
  STATE_GRAPH,
  STATE_REDUCER,
  WITH_PATCH,
  WITH_SUMMARY,
} = contenders;

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
  { title: "A turn at 1,200 messages", path: "turn/1200", ours: DELTA_SERIALIZER, beside: WITH_PATCH },
  { title: "A turn at 10,000 messages", path: "turn/10000", ours: DELTA_SERIALIZER, beside: WITH_PATCH },
  {
    title: "A turn at 10,000 messages, SQLite",
    path: "turn-sqlite/10000",
    ours: DELTA_SERIALIZER,
    beside: WITH_PATCH,
  },
  {
    title: "A turn at 10,000 messages, PostgreSQL",
    path: "turn-postgres/10000",
    ours: DELTA_SERIALIZER,
    beside: WITH_PATCH,
  },
  {
    title: "A turn at 10,000 messages, summarised",
    path: "turn/10000",
    ours: ARCHIVE_DELTA_SERIALIZER,
    beside: WITH_SUMMARY,
  },
  {
    title: "Bytes of a turn at 1,200 messages",
    path: "bytes/1200",
    ours: DELTA_SERIALIZER,
    beside: WITH_PATCH,
  },
  {
    title: "Bytes of a turn at 10,000, summarised",
    path: "bytes/10000",
    ours: ARCHIVE_DELTA_SERIALIZER,
    beside: WITH_SUMMARY,
  },
  {
    title: "Input tokens at their price, cached a tenth",
    path: "tokens/summaries/all/tenth",
    ours: OURS,
    beside: WITH_SUMMARY,
  },
  {
    title: "Input tokens at their price, cached a half",
    path: "tokens/summaries/all/half",
    ours: OURS,
    beside: WITH_SUMMARY,
  },
  {
    title: "Input tokens at their price, Anthropic",
    path: "tokens/summaries/all/marked",
    ours: OURS,
    beside: DEEP_AGENT,
  },
  {
    title: "Append to 10,000 that were just loaded",
    path: "reducer/append/cold/10000",
    ours: OURS,
    beside: STATE_REDUCER,
  },
  { title: "Repair 10,000 messages", path: "repair/broken/10000", ours: OURS, beside: PATCH },
  {
    title: "A run with one text response",
    path: "short-run/text-2-memory",
    ours: OURS,
    beside: CREATE_AGENT,
  },
  { title: "A run with one tool call", path: "short-run/tool-2-memory", ours: OURS, beside: CREATE_AGENT },
  {
    title: "A server's first token",
    path: "served/first-token/1",
    ours: OURS,
    beside: CREATE_AGENT,
  },
  {
    title: "Runs in a second, 20 threads, createAgent",
    path: "served/rate/20",
    ours: OURS,
    beside: CREATE_AGENT,
  },
  {
    title: "Runs in a second, 20 threads, StateGraph",
    path: "served/rate/20",
    ours: OURS,
    beside: STATE_GRAPH,
  },
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
