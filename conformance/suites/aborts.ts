/** Runs that are cancelled, and a message of the user directly after them, while the checkpointer may still write. */

import { MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import {
  DURABILITIES,
  type Durability,
  finishedAt,
  greet,
  judge,
  MOMENTS,
  type Play,
  suiteOfThreads,
  textsOf,
} from "./ended-run.js";
import { SlowSaver } from "./slow-saver.js";

const SAVERS = {
  "slow memory": () => new SlowSaver(),
  memory: () => new MemorySaver(),
  SQLite: () => SqliteSaver.fromConnString(":memory:"),
} as const;

type MomentName = keyof typeof MOMENTS;
type SaverName = keyof typeof SAVERS;

const play =
  (name: MomentName, saver: SaverName, durability: Durability): Play =>
  async (open) => {
    const moment = MOMENTS[name];
    const thread = open({ durability, saver: SAVERS[saver]() });
    const asked = thread.ask(moment.calls);
    await thread.cancel(moment, asked);
    const greeting = `hello ${thread.label}`;
    const unanswered = await greet(thread, greeting);
    const expected = { said: [...textsOf(asked), greeting], finished: finishedAt(moment, thread) };
    return unanswered ?? judge(thread, expected);
  };

const ROWS: readonly (readonly [moment: MomentName, savers: readonly SaverName[]])[] = [
  ["one of two tools has finished", ["slow memory", "memory", "SQLite"]],
  ["one of two tools has finished, and the other ignores the abort", ["slow memory"]],
  ["both tools have finished", ["slow memory"]],
  ["the next response has begun", ["slow memory"]],
];

export const aborts = suiteOfThreads(
  "aborts",
  "A run is cancelled while its tools run, or in the next response, and the user's next message comes at once. It is answered, both messages of the user and the result of each finished tool are in the thread and in the request, and the request is valid.",
  Object.fromEntries(
    ROWS.flatMap(([moment, savers]) =>
      savers.flatMap((saver) =>
        DURABILITIES.map((durability) => [
          `cancelled when ${moment}: ${durability}, ${saver}`,
          play(moment, saver, durability),
        ]),
      ),
    ),
  ),
);
