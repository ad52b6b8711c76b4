/**
 * The first turn after a crash: a process dies while a tool runs, and another one goes on with the thread. Beside it, a
 * turn of the same thread without a crash.
 */

import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { mortalSaver } from "../../test/support/mortal-saver.js";
import { AGENTS, type AgentKind } from "../agents.js";
import { AFTER_CRASH, DELTA_SERIALIZER, FULL, SOUND_TURN, WITH_PATCH } from "../contenders.js";
import { written } from "../histories.js";
import { type CaseSpec, measureRounds, median, type Suite, timeOf } from "../suite.js";
import { openThread } from "../thread.js";

const SIZES = { 100: 5, 1000: 3 };
const KINDS = [WITH_PATCH, FULL, DELTA_SERIALIZER];

/** In milliseconds. The thread is a new one, because a crash changes it. */
async function turnOf(kind: AgentKind, size: number, crashes: boolean): Promise<number> {
  const saver = new MemorySaver(kind.createSerializer());
  const store = new InMemoryStore();
  const { agent, config, play } = await openThread(kind, { checkpointer: saver, store }, size);
  if (crashes) {
    const { mortal, die } = mortalSaver(saver);
    const look = tool(
      async () => {
        die();
        throw new Error("The process has died.");
      },
      { name: "look", description: "Looks at a city.", schema: z.object({ city: z.string() }) },
    );
    const dying = kind.create({ checkpointer: mortal, store, tool: look as never });
    let hasFailed = false;
    const input = { messages: [new HumanMessage("Where?")] };
    await dying.invoke(input, config).catch(() => {
      hasFailed = true;
    });
    const { messages } = (await agent.getState(config)).values;
    if (!hasFailed || messages?.at(-1)?.type !== "ai")
      throw new Error("Expected a thread with an open call.");
  }
  return timeOf(play);
}

async function medianOf(samples: number, run: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) times.push(await run());
  return median(times);
}

export const recovery: Suite = {
  name: "recovery",
  measure: (conditions) => {
    const cases = Object.entries(SIZES).flatMap(([size, samples]) =>
      KINDS.map((name): CaseSpec => {
        const kind = AGENTS[name];
        if (kind === undefined) throw new Error(`Expected an agent that is called ${name}.`);
        const run = (crashes: boolean) => () => medianOf(samples, () => turnOf(kind, Number(size), crashes));
        return {
          id: `${size}/${name}`,
          title: `A turn after a crash at ${written(Number(size))} messages, ${name}`,
          unit: "ms",
          base: SOUND_TURN,
          contenders: { [AFTER_CRASH]: run(true), [SOUND_TURN]: run(false) },
        };
      }),
    );
    return measureRounds(cases, { ...conditions, rounds: 5, warmUps: 1 });
  },
};
