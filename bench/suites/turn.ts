/** A turn of four messages in a thread that has many: each setting of ours, beside LangChain's agents. */

import { AGENTS, type AgentKind, type AgentParts } from "../agents.js";
import { WITH_PATCH } from "../contenders.js";
import { DATABASES } from "../databases.js";
import { written } from "../histories.js";
import { type CaseSpec, type Contender, measureRounds, type Suite, timeOf } from "../suite.js";
import { openThread, type Thread } from "../thread.js";

/** From this size on, a thread is used in all rounds: some turns more make little difference to it. */
const LARGE = 1_000;

/** How many turns a round has. Those of short threads are so many that one of them makes a summary. */
const TURNS: Readonly<Record<AgentKind["cost"], (size: number) => number>> = {
  short: () => 25,
  some: (size) => (size > 5_000 ? 2 : 3),
  long: (size) => (size > 5_000 ? 1 : 3),
};

function contenderOf(
  kind: AgentKind,
  parts: AgentParts,
  size: number,
  isQuick: boolean,
): { readonly run: Contender; readonly close: () => Promise<void> } {
  const turns = isQuick ? 1 : TURNS[kind.cost](size);
  let kept: Thread | undefined;
  const run = async () => {
    const thread = kept ?? (await openThread(kind, parts, size));
    if (size >= LARGE) kept = thread;
    const taken = await timeOf(async () => {
      for (let turn = 0; turn < turns; turn += 1) await thread.play();
    });
    if (kept === undefined) await thread.close();
    return taken / turns;
  };
  return { run, close: async () => kept?.close() };
}

const turnSuite = (
  name: string,
  where: string,
  open: (typeof DATABASES)[keyof typeof DATABASES],
  sizes: readonly number[],
  rounds: number,
  needs?: Suite["needs"],
): Suite => ({
  name,
  ...(needs && { needs }),
  measure: async (conditions) => {
    const database = await open();
    const ends: (() => Promise<void>)[] = [];
    const agents: (readonly [name: string, kind: AgentKind, parts: AgentParts])[] = [];
    for (const [kindName, kind] of Object.entries(AGENTS))
      agents.push([kindName, kind, await database.connect(kind.createSerializer())]);
    const cases: CaseSpec[] = [];
    for (const size of sizes) {
      const contenders: Record<string, Contender> = {};
      for (const [kindName, kind, parts] of agents) {
        const { run, close } = contenderOf(kind, parts, size, conditions.isQuick);
        contenders[kindName] = run;
        ends.push(close);
      }
      const title = `A turn at ${written(size)} messages, ${where}`;
      cases.push({ id: `${size}`, title, unit: "ms", base: WITH_PATCH, contenders });
    }
    const results = await measureRounds(cases, { ...conditions, rounds });
    for (const end of ends) await end();
    await database.close();
    return results;
  },
});

export const turn = turnSuite("turn", "memory", DATABASES.memory, [100, 1_000, 1_200, 10_000], 5);
export const turnSqlite = turnSuite("turn-sqlite", "SQLite", DATABASES.sqlite, [100, 1_000, 10_000], 3);
export const turnPostgres = turnSuite(
  "turn-postgres",
  "PostgreSQL",
  DATABASES.postgres,
  [100, 1_000, 10_000],
  3,
  "postgres",
);
