/** What the library is to reach, and what it has reached. A goal that is missed fails nothing: it is shown. */

import {
  ARCHIVE_DELTA_SERIALIZER,
  CREATE_AGENT,
  DEEP_AGENT,
  DELTA_SERIALIZER,
  FEW_TURNS,
  FULL,
  MANY_TURNS,
  OURS,
  STATE_GRAPH,
  WITH_PATCH,
  WITH_SUMMARY,
  WITH_TETHER,
} from "../contenders.js";
import { written } from "../histories.js";
import { spreadText } from "./numbers.js";
import { perRound, type Results, roundsOf, spreadOf } from "./results.js";

/** A contender of a case: `[SUITE/CASE, NAME]`. */
type Measured = readonly [path: string, contender: string];

interface Goal {
  readonly title: string;
  readonly of: Measured;
  readonly beside: Measured;
  readonly limit: { readonly atLeast: number } | { readonly atMost: number };
}

export interface Judgement {
  readonly title: string;
  readonly goal: string;
  readonly reached: string;
  /** Undefined: its suite was not run. */
  readonly holds: boolean | undefined;
}

/** Two contenders of one case. */
const goal = (title: string, path: string, of: string, beside: string, limit: Goal["limit"]): Goal => ({
  title,
  of: [path, of],
  beside: [path, beside],
  limit,
});

/** A turn of ours beside the one of `createAgent` with deepagents' patch, on the same database. */
const quicker = (suite: string, where: string, size: number, ours: string, times: number) =>
  goal(
    `createAgent with the patch beside ours (${ours === FULL ? "defaults" : "best"}), a turn at ${written(size)} messages, ${where}`,
    `${suite}/${size}`,
    WITH_PATCH,
    ours,
    { atLeast: times },
  );

const cheaper = (what: string, setting: string, price: string, peer: string) =>
  goal(
    `${peer} beside ours, input tokens at their price ${what} (${price})`,
    `tokens/${setting}/all/${price}`,
    peer,
    OURS,
    {
      atLeast: 1,
    },
  );

const GOALS: readonly Goal[] = [
  quicker("turn", "memory", 100, FULL, 1.5),
  quicker("turn", "memory", 1_200, FULL, 4),
  quicker("turn", "memory", 1_200, DELTA_SERIALIZER, 9),
  quicker("turn", "memory", 10_000, DELTA_SERIALIZER, 15),
  quicker("turn-sqlite", "SQLite", 1_000, DELTA_SERIALIZER, 6),
  quicker("turn-sqlite", "SQLite", 10_000, DELTA_SERIALIZER, 12),
  quicker("turn-postgres", "PostgreSQL", 100, FULL, 1),
  quicker("turn-postgres", "PostgreSQL", 1_000, DELTA_SERIALIZER, 4),
  quicker("turn-postgres", "PostgreSQL", 10_000, DELTA_SERIALIZER, 8),
  goal(
    "createAgent with its summaries beside ours with the archive, a turn at 10,000 messages",
    "turn/10000",
    WITH_SUMMARY,
    ARCHIVE_DELTA_SERIALIZER,
    { atLeast: 1.5 },
  ),
  ...["memory", "sqlite"].map((place) =>
    goal(
      `Ours with the archive, a turn after 2,400 turns beside one after 100, ${place === "memory" ? "memory" : "SQLite"}`,
      `lived/${place}`,
      MANY_TURNS,
      FEW_TURNS,
      { atMost: 1.3 },
    ),
  ),
  goal(
    "createAgent with the patch beside ours (best), bytes of a turn at 1,200 messages",
    "bytes/1200",
    WITH_PATCH,
    DELTA_SERIALIZER,
    { atLeast: 100 },
  ),
  goal(
    "createAgent with its summaries beside ours with the archive, bytes of a turn at 10,000 messages",
    "bytes/10000",
    WITH_SUMMARY,
    ARCHIVE_DELTA_SERIALIZER,
    { atLeast: 20 },
  ),
  ...[100, 1_000].map((size) =>
    goal(
      `A model call with tetherMiddleware beside one without, ${written(size)} messages`,
      `middleware/${size}`,
      WITH_TETHER,
      CREATE_AGENT,
      { atMost: 1.4 },
    ),
  ),
  ...["tenth", "half", "marked"].flatMap((price) => [
    ...[WITH_SUMMARY, DEEP_AGENT].map((peer) => cheaper("with summaries", "summaries", price, peer)),
    cheaper("without summaries", "plain", price, CREATE_AGENT),
  ]),
  ...["text", "tool"].flatMap((kind) => [
    goal(`A short run (${kind}) beside createAgent`, `short-run/${kind}-2-memory`, OURS, CREATE_AGENT, {
      atMost: 1.25,
    }),
    goal(`A short run (${kind}) beside a StateGraph`, `short-run/${kind}-2-memory`, OURS, STATE_GRAPH, {
      atMost: 1.5,
    }),
  ]),
  ...[OURS, WITH_TETHER].map((contender) =>
    goal(
      `Processor time of a streamed run of ${contender} beside createAgent`,
      "streamed/streamed",
      contender,
      CREATE_AGENT,
      { atMost: 1.25 },
    ),
  ),
  goal("A server's first token beside createAgent", "served/first-token/1", OURS, CREATE_AGENT, {
    atMost: 1.1,
  }),
  goal("A server's first token beside a StateGraph", "served/first-token/1", OURS, STATE_GRAPH, {
    atMost: 1.2,
  }),
  ...["1", "20", "100"].flatMap((threads) => [
    goal(
      `Runs in a second, threads: ${threads}, beside createAgent`,
      `served/rate/${threads}`,
      OURS,
      CREATE_AGENT,
      { atLeast: 0.95 },
    ),
    goal(
      `Runs in a second, threads: ${threads}, beside a StateGraph`,
      `served/rate/${threads}`,
      OURS,
      STATE_GRAPH,
      { atLeast: 1 },
    ),
  ]),
];

export function judgeGoals(results: Results): readonly Judgement[] {
  return GOALS.map(({ title, of, beside, limit }) => {
    const isAtLeast = "atLeast" in limit;
    const bound = isAtLeast ? limit.atLeast : limit.atMost;
    const text = `${isAtLeast ? "at least" : "at most"} ${bound}`;
    const [ones, others] = [roundsOf(results, ...of), roundsOf(results, ...beside)];
    if (ones === undefined || others === undefined)
      return { title, goal: text, reached: "–", holds: undefined };
    const reached = spreadOf(perRound(ones, others, (one, other) => one / other));
    const holds = isAtLeast ? reached.median >= bound : reached.median <= bound;
    return { title, goal: text, reached: spreadText(reached), holds };
  });
}

/** A word for the outcome of a goal. */
export const outcomeOf = ({ holds }: Judgement): string =>
  holds === undefined ? "not measured" : holds ? "reached" : "missed";
