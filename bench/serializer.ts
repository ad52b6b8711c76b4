/**
 * Compares `messageSerializer` with LangGraph's `JsonPlusSerializer`, in the same run. Prints medians in milliseconds,
 * and how many times as long LangGraph's takes. Run it with `npx tsx bench/serializer.ts`.
 *
 * load: stored bytes become messages, as at the start of each turn.
 * dump: the messages that were loaded are written, as in the first checkpoint of a turn.
 * again: they are written once more, as in each further checkpoint.
 * turn: one turn of `createAgent`, a question and a response, on a thread that is stored whole in each checkpoint.
 */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent } from "langchain";
import { messageSerializer } from "../src/index.js";
import { FunctionModel } from "../test/support/function-model.js";

const SIZES = [100, 1_000, 10_000];
const SAMPLES = 7;
const TURN_SIZE = 1_200;

type Serde = BaseCheckpointSaver["serde"];

/** Turns of a question, a tool call, its result and a response. */
function createHistory(size: number): BaseMessage[] {
  return Array.from({ length: size / 4 }, (_, turn) => [
    new HumanMessage({ id: `h${turn}`, content: `Question ${turn} ${"word ".repeat(20)}` }),
    new AIMessage({
      id: `c${turn}`,
      content: "",
      tool_calls: [{ id: `call-${turn}`, name: "look", args: { city: "Rome" }, type: "tool_call" }],
      response_metadata: { model_name: "model", finish_reason: "stop", system_fingerprint: undefined },
    }),
    new ToolMessage({ id: `r${turn}`, content: "found ".repeat(40), tool_call_id: `call-${turn}` }),
    new AIMessage({ id: `a${turn}`, content: "answer ".repeat(30) }),
  ]).flat();
}

async function time(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** Medians of two ways that take turns, so that a busy moment hits both. */
async function compare(row: string, theirs: () => Promise<number>, ours: () => Promise<number>) {
  const times: [number[], number[]] = [[], []];
  await theirs();
  await ours();
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    times[0].push(await theirs());
    times[1].push(await ours());
  }
  const [slow = 0, fast = 0] = times.map((list) => list.sort((a, b) => a - b)[SAMPLES >> 1] ?? 0);
  return {
    row,
    "LangGraph ms": Number(slow.toFixed(2)),
    "ours ms": Number(fast.toFixed(2)),
    ratio: Number((slow / fast).toFixed(1)),
  };
}

const langGraph = new MemorySaver().serde;
const ours = messageSerializer();
const rows = [];

for (const size of SIZES) {
  const [type, bytes] = await langGraph.dumpsTyped({ messages: createHistory(size) });
  const load = (serde: Serde) => () => time(() => serde.loadsTyped(type, bytes));
  const dump = (serde: Serde, before: number) => async () => {
    const state: unknown = await serde.loadsTyped(type, bytes);
    for (let number = 0; number < before; number += 1) await serde.dumpsTyped(state);
    return time(() => serde.dumpsTyped(state));
  };
  rows.push(await compare(`load ${size}`, load(langGraph), load(ours)));
  rows.push(await compare(`dump ${size}`, dump(langGraph, 0), dump(ours, 0)));
  rows.push(await compare(`dump ${size} again`, dump(langGraph, 1), dump(ours, 1)));
}

const SAVERS = {
  MemorySaver: () => new MemorySaver(),
  SqliteSaver: () => SqliteSaver.fromConnString(":memory:"),
};

for (const [name, create] of Object.entries(SAVERS)) {
  const turn = async (serde: Serde) => {
    const agent = createAgent({
      model: new FunctionModel(() => "Done."),
      tools: [],
      checkpointer: Object.assign(create(), { serde }),
    });
    const thread = { configurable: { thread_id: "1" } };
    await agent.updateState(thread, { messages: createHistory(TURN_SIZE) });
    return () => time(() => agent.invoke({ messages: [new HumanMessage("Next")] }, thread));
  };
  rows.push(await compare(`turn at ${TURN_SIZE}, ${name}`, await turn(langGraph), await turn(ours)));
}

console.table(rows);
