/**
 * `messageSerializer` beside LangGraph's serializer: stored bytes become messages, as at the start of each turn; these
 * messages are written for the first time, and once more, as in each further checkpoint of a turn.
 */

import { MemorySaver } from "@langchain/langgraph";
import { messageSerializer } from "../../src/index.js";
import { AGENTS, type AgentKind, type Serializer } from "../agents.js";
import { CREATE_AGENT, LANGGRAPH_SERIALIZER, MESSAGE_SERIALIZER } from "../contenders.js";
import { DATABASES } from "../databases.js";
import { createHistory, written } from "../histories.js";
import { type CaseSpec, measureRounds, type Suite, timeOf } from "../suite.js";
import { openThread, type Thread } from "../thread.js";

const SIZES = [100, 1_000, 10_000];
const TURN_SIZE = 1_200;
const langGraph = () => new MemorySaver().serde;
const CONTENDERS = { [LANGGRAPH_SERIALIZER]: langGraph, [MESSAGE_SERIALIZER]: () => messageSerializer() };

type Measure = (serializer: Serializer, type: string, bytes: Uint8Array) => Promise<number>;

const dumpAfter =
  (dumps: number): Measure =>
  async (serializer, type, bytes) => {
    const state: unknown = await serializer.loadsTyped(type, bytes);
    for (let dump = 0; dump < dumps; dump += 1) await serializer.dumpsTyped(state);
    return timeOf(() => serializer.dumpsTyped(state));
  };

const STEPS: Readonly<Record<string, Measure>> = {
  load: (serializer, type, bytes) => timeOf(() => serializer.loadsTyped(type, bytes)),
  dump: dumpAfter(0),
  "dump again": dumpAfter(1),
};

/** A turn of LangChain's agent, which stores all messages in each checkpoint. */
function turnOf(kind: AgentKind, createSerializer: () => Serializer): () => Promise<number> {
  let thread: Thread | undefined;
  return async () => {
    const { checkpointer, store } = await (await DATABASES.memory()).connect(createSerializer());
    thread ??= await openThread(kind, { checkpointer, store }, TURN_SIZE);
    return timeOf(thread.play);
  };
}

export const serializer: Suite = {
  name: "serializer",
  measure: async (conditions) => {
    const cases: CaseSpec[] = [];
    const unit = "ms";
    const base = LANGGRAPH_SERIALIZER;
    for (const size of SIZES) {
      const [type, bytes] = await langGraph().dumpsTyped({ messages: createHistory(size) });
      for (const [step, run] of Object.entries(STEPS)) {
        const contenders = Object.fromEntries(
          Object.entries(CONTENDERS).map(([name, create]) => [name, () => run(create(), type, bytes)]),
        );
        const title = `Serializer: ${step} ${written(size)} messages`;
        cases.push({ id: `${step.replace(" ", "-")}/${size}`, title, unit, base, contenders });
      }
    }
    const agent = AGENTS[CREATE_AGENT];
    if (agent !== undefined) {
      const contenders = Object.fromEntries(
        Object.entries(CONTENDERS).map(([name, create]) => [name, turnOf(agent, create)]),
      );
      const title = `A turn of createAgent at ${written(TURN_SIZE)} messages`;
      cases.push({ id: `turn/${TURN_SIZE}`, title, unit, base, contenders });
    }
    return measureRounds(cases, { ...conditions, rounds: 7, warmUps: 1 });
  },
};
