/** What the library is to reach, and what it has reached. A goal that is missed fails nothing: it is shown. */

import {
  ARCHIVE_DELTA_SERIALIZER,
  CREATE_AGENT,
  DELTA_SERIALIZER,
  OURS,
  PATCH,
  STATE_GRAPH,
  WITH_PATCH,
  WITH_SUMMARY,
} from "../contenders.js";
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

const quicker = (size: string, times: number) =>
  goal(
    `createAgent with the patch beside ours (delta, serializer), a turn at ${size} messages`,
    `turn/${size.replace(",", "")}`,
    WITH_PATCH,
    DELTA_SERIALIZER,
    { atLeast: times },
  );

const GOALS: readonly Goal[] = [
  quicker("1,200", 8),
  quicker("10,000", 15),
  goal(
    "createAgent with the patch beside ours (delta, serializer), bytes of a turn at 1,200 messages",
    "bytes/1200",
    WITH_PATCH,
    DELTA_SERIALIZER,
    {
      atLeast: 100,
    },
  ),
  {
    title: "Ours with the archive, a turn at 10,000 messages beside one at 100",
    of: ["turn/10000", ARCHIVE_DELTA_SERIALIZER],
    beside: ["turn/100", ARCHIVE_DELTA_SERIALIZER],
    limit: { atMost: 1.2 },
  },
  goal(
    "createAgent with its summaries beside ours with the archive, a turn at 10,000 messages",
    "turn/10000",
    WITH_SUMMARY,
    ARCHIVE_DELTA_SERIALIZER,
    { atLeast: 1.5 },
  ),
  goal(
    "createAgent with its summaries beside ours with the archive, bytes of a turn at 10,000 messages",
    "bytes/10000",
    WITH_SUMMARY,
    ARCHIVE_DELTA_SERIALIZER,
    {
      atLeast: 20,
    },
  ),
  goal("deepagents' patch beside the repair of a broken list of 10,000", "repair/broken/10000", PATCH, OURS, {
    atLeast: 15,
  }),
  ...["text", "tool"].flatMap((kind) => [
    goal(`A short run (${kind}) beside createAgent`, `short-run/${kind}`, OURS, CREATE_AGENT, {
      atMost: 1.25,
    }),
    goal(`A short run (${kind}) beside a StateGraph`, `short-run/${kind}`, OURS, STATE_GRAPH, {
      atMost: 1.5,
    }),
  ]),
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
      { atLeast: 1 },
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
