/** What the library is to reach, and what it has reached. A goal that is missed fails nothing: it is shown. */

import {
  ARCHIVE_DELTA_SERIALIZER,
  COPY,
  CREATE_AGENT,
  DELTA_SERIALIZER,
  FIRST_INPUT,
  NEXT_INPUT_ALONE,
  OURS,
  PATCH,
  READING,
  STATE_GRAPH,
  STATE_REDUCER,
  WITH_PATCH,
  WITH_SUMMARY,
} from "../contenders.js";
import { digits, spreadText } from "./numbers.js";
import { perRound, type Results, roundsOf, spreadOf } from "./results.js";

/** A contender of a case: `[SUITE/CASE, NAME]`. */
type Measured = readonly [path: string, contender: string];

interface Goal {
  readonly title: string;
  readonly of: Measured;
  readonly beside: Measured;
  /** @default "ratio" */
  readonly by?: "ratio" | "difference";
  readonly limit: { readonly atLeast: number } | { readonly atMost: number };
  readonly unit?: string;
}

export interface Judgement {
  readonly title: string;
  readonly goal: string;
  readonly reached: string;
  /** Undefined: its suite was not run. */
  readonly holds: boolean | undefined;
}

/** Two contenders of one case. */
const goal = (
  title: string,
  path: string,
  of: string,
  beside: string,
  limit: Goal["limit"],
  more: Pick<Goal, "by" | "unit"> = {},
): Goal => ({ title, of: [path, of], beside: [path, beside], limit, ...more });

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
  ...[1_000, 10_000, 100_000].flatMap((size) => [
    goal(
      `A warm append at ${digits(size)} messages, without the copy`,
      `reducer/append/warm/${size}`,
      OURS,
      COPY,
      { atMost: 60 },
      { by: "difference", unit: "µs" },
    ),
    goal(
      `A cold append at ${digits(size)} messages, beside LangGraph's`,
      `reducer/append/cold/${size}`,
      OURS,
      STATE_REDUCER,
      { atMost: 1 },
    ),
  ]),
  ...["sound", "broken"].flatMap((kind) => [
    goal(
      `deepagents' patch beside the repair of a ${kind} list of 100,000`,
      `repair/${kind}/100000`,
      PATCH,
      OURS,
      { atLeast: 300 },
    ),
    goal(
      `The repair of a ${kind} list of 100,000 beside one reading pass`,
      `repair/${kind}/100000`,
      OURS,
      READING,
      { atMost: 3 },
    ),
  ]),
  {
    title: "The next model input at 100,000 messages beside one at 1,000, without copies of the list",
    of: ["model-input/100000", NEXT_INPUT_ALONE],
    beside: ["model-input/1000", NEXT_INPUT_ALONE],
    limit: { atMost: 2 },
  },
  goal(
    "The first model input at 100,000 messages beside one reading pass",
    "model-input/100000",
    FIRST_INPUT,
    READING,
    { atMost: 3 },
  ),
  ...["text", "tool"].flatMap((kind) => [
    goal(`A short run (${kind}) beside createAgent`, `short-run/${kind}`, OURS, CREATE_AGENT, {
      atMost: 1.1,
    }),
    goal(`A short run (${kind}) beside a StateGraph`, `short-run/${kind}`, OURS, STATE_GRAPH, {
      atMost: 1.2,
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
  return GOALS.map(({ title, of, beside, by = "ratio", limit, unit }) => {
    const isAtLeast = "atLeast" in limit;
    const bound = isAtLeast ? limit.atLeast : limit.atMost;
    const text = `${isAtLeast ? "at least" : "at most"} ${bound}${unit === undefined ? "" : ` ${unit}`}`;
    const [ones, others] = [roundsOf(results, ...of), roundsOf(results, ...beside)];
    if (ones === undefined || others === undefined)
      return { title, goal: text, reached: "–", holds: undefined };
    const values = perRound(ones, others, (one, other) => (by === "ratio" ? one / other : one - other));
    const reached = spreadOf(values);
    const holds = isAtLeast ? reached.median >= bound : reached.median <= bound;
    return { title, goal: text, reached: spreadText(reached, unit), holds };
  });
}

/** A word for the outcome of a goal. */
export const outcomeOf = ({ holds }: Judgement): string =>
  holds === undefined ? "not measured" : holds ? "reached" : "missed";
