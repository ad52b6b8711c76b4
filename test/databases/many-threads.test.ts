import { describe, expect, it } from "vitest";
import { createSoakGraph } from "../fixtures/soak/graph.js";
import { type TurnKind, turnText } from "../fixtures/soak/turn-kinds.js";
import { SAVERS } from "../support/savers.js";
import { inThread, pairedScript, user } from "../support/thread.js";

const THREADS = 50;
const isSlow = process.env["SLOW_TESTS"] === "1";
/** The kinds of the turns of each thread, with their number of messages. */
const TURNS: readonly [TurnKind, number][] = isSlow
  ? [
      ["tools", 6],
      ["broken-text", 2],
      ["throws", 5],
    ]
  : [["throws", 5]];
/** PostgreSQL takes part whenever there is one. */
const isChosen = (title: string) => isSlow || /^(?:Memory|Postgres)/.test(title);

describe.each(SAVERS.filter(({ isThere, title }) => isThere && isChosen(title)))(
  "With $title",
  ({ open }) => {
    it("fifty threads at once each have their own messages, and nothing else", async () => {
      const { connect, connectStore } = await open();
      const graph = createSoakGraph({ checkpointer: connect(), store: await connectStore() });
      const textOf = (thread: number, turn: number) =>
        turnText(TURNS[turn]?.[0] ?? "plain", 100 * thread + turn);
      await Promise.all(
        Array.from({ length: THREADS }, async (_, thread) => {
          for (const turn of TURNS.keys())
            await graph.invoke(user(textOf(thread, turn)), inThread(`${thread}`));
        }),
      );
      for (let thread = 0; thread < THREADS; thread += 1) {
        const lines = pairedScript((await graph.getState(inThread(`${thread}`))).values);
        expect(lines.filter((line) => line.startsWith("human"))).toEqual(
          TURNS.map((_, turn) => `human: ${textOf(thread, turn)}`),
        );
        expect(lines).toHaveLength(TURNS.reduce((sum, [, messages]) => sum + messages, 0));
      }
    });
  },
);
