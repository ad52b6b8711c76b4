/** What a turn stores: checkpoints and pending writes. */

import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { AGENTS, type AgentKind, type Serializer } from "../agents.js";
import { DELTA, WITH_PATCH } from "../contenders.js";
import { written } from "../histories.js";
import { type CaseSpec, measureRounds, type Suite } from "../suite.js";
import { openThread } from "../thread.js";

const SIZES = [100, 1_000, 1_200, 10_000];

/** A delta channel stores all messages once in a hundred updates. 25 turns of four updates have it once. */
const TURNS: Readonly<Record<AgentKind["cost"], number>> = { short: 25, some: 25, long: 2 };

interface Counter {
  bytes: number;
}

function counting(serializer: Serializer, counter: Counter): Serializer {
  return {
    dumpsTyped: async (value) => {
      const typed = await serializer.dumpsTyped(value);
      counter.bytes += typed[1].length;
      return typed;
    },
    loadsTyped: (type, data) => serializer.loadsTyped(type, data),
  };
}

/** In kilobytes. The same in each round, because nothing that is stored depends on the time. */
async function storedATurn(kind: AgentKind, size: number): Promise<number> {
  const counter = { bytes: 0 };
  const parts = {
    checkpointer: new MemorySaver(counting(kind.createSerializer(), counter)),
    store: new InMemoryStore(),
  };
  const thread = await openThread(kind, parts, size);
  counter.bytes = 0;
  for (let turn = 0; turn < TURNS[kind.cost]; turn += 1) await thread.play();
  return counter.bytes / TURNS[kind.cost] / 1_000;
}

export const bytes: Suite = {
  name: "bytes",
  measure: (conditions) => {
    const cases = SIZES.map(
      (size): CaseSpec => ({
        id: `${size}`,
        title: `What a turn stores at ${written(size)} messages`,
        unit: "kB",
        base: WITH_PATCH,
        contenders: Object.fromEntries(
          Object.entries(AGENTS)
            // The serializer makes no difference to what is stored, and without it 25 turns take long.
            .filter(([name]) => name !== DELTA)
            .map(([name, kind]) => [name, () => storedATurn(kind, size)]),
        ),
      }),
    );
    return measureRounds(cases, { ...conditions, rounds: 1, warmUps: 0 });
  },
};
