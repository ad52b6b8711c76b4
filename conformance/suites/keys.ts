/** Other keys of the state, which finished tools of an ended run have written beside their results. */

import { ToolMessage } from "@langchain/core/messages";
import { Command, ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { fault } from "../suite.js";
import {
  DURABILITIES,
  type Durability,
  finishedAt,
  greet,
  judge,
  type Moment,
  type Play,
  type RunTool,
  suiteOfThreads,
  textsOf,
} from "./ended-run.js";

/** `log` collects what is written to it, and `note` keeps the last value. */
const SCHEMA = new StateSchema({
  log: new ReducedValue(z.array(z.string()).default([]), {
    inputSchema: z.array(z.string()),
    reducer: (log: string[], more: string[]) => [...log, ...more],
  }),
  note: z.string().default("none"),
});
const KEYS = ["log", "note"] as const;
type Key = (typeof KEYS)[number];

/** A tool that writes a key beside its result. */
const writing =
  (key: Key): RunTool =>
  (label, { toolCallId }) => {
    const messages = [new ToolMessage({ content: `write done ${label}`, tool_call_id: toolCallId })];
    return new Command({ update: { [key]: key === "log" ? [label] : label, messages } });
  };

const MOMENTS = {
  "one tool has written": { calls: ["write", "heedful"], ended: 1 },
  "one tool has written, and another ignores the abort": { calls: ["write", "deaf"], ended: 1 },
  "two tools have written": { calls: ["write", "write", "heedful"], ended: 2 },
  "the tools of the response have finished": { calls: ["write", "fast"], ended: 2, holds: "before" },
} as const satisfies Readonly<Record<string, Moment>>;

const play =
  (how: "cancel" | "die", moment: Moment, key: Key, durability: Durability): Play =>
  async (open) => {
    const thread = open({ durability, tools: { write: writing(key) }, parts: { stateSchema: SCHEMA } });
    const asked = thread.ask(moment.calls);
    await thread[how](moment, asked);
    const greeting = `hello ${thread.label}`;
    const unanswered = await greet(thread, greeting);
    if (unanswered !== undefined) return unanswered;
    const written = moment.calls.flatMap((name, index) =>
      name === "write" ? [`${thread.label}${index}`] : [],
    );
    const wanted = key === "log" ? written : written.at(-1);
    const value: unknown = Reflect.get(await thread.read(), key);
    if (JSON.stringify(value) !== JSON.stringify(wanted))
      return fault(`The key is ${JSON.stringify(value)} in place of ${JSON.stringify(wanted)}.`);
    return judge(thread, { said: [...textsOf(asked), greeting], finished: finishedAt(moment, thread) });
  };

const KINDS = { log: "a key with a reducer", note: "a key without a reducer" } as const satisfies Record<
  Key,
  string
>;
const ROWS: readonly (readonly [
  how: "cancel" | "die",
  moment: keyof typeof MOMENTS,
  durabilities: readonly Durability[],
])[] = [
  ["cancel", "one tool has written", DURABILITIES],
  ["cancel", "one tool has written, and another ignores the abort", ["async"]],
  ["cancel", "two tools have written", ["async"]],
  ["cancel", "the tools of the response have finished", ["async"]],
  // With the durability `exit`, nothing of a run is left when its process dies.
  ["die", "one tool has written", ["sync", "async"]],
];

export const keys = suiteOfThreads(
  "keys",
  "A tool writes another key of the state beside its result. Then its run is cancelled, or its process dies, before the batch is complete. After the next message the key has the value, as the thread has the result.",
  Object.fromEntries(
    KEYS.flatMap((key) =>
      ROWS.flatMap(([how, moment, durabilities]) =>
        durabilities.map((durability) => [
          `${KINDS[key]}, ${how === "die" ? "died" : "cancelled"} when ${moment}: ${durability}`,
          play(how, MOMENTS[moment], key, durability),
        ]),
      ),
    ),
  ),
);
