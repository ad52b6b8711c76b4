/** Checkpointers that return `null`, or nothing, where LangGraph's types say undefined or a list. */

import type { BaseMessage } from "@langchain/core/messages";
import { type CheckpointTuple, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createGraphStore, diagnoseThread } from "../../src/doctor.js";
import { createAgentGraph, readFullHistory } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { allOf, turns } from "../support/async.js";
import { lines } from "../support/lines.js";
import { calls, FunctionModel } from "../support/models.js";
import { abortRun, rowsOf } from "../support/test-tools.js";
import { inThread, pairedScript, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

type Fields = { -readonly [Name in keyof CheckpointTuple]: unknown };

/** A saver whose tuples have other kinds of nothing. */
class OddSaver extends MemorySaver {
  readonly #none: undefined | null;
  readonly #change: (tuple: Fields) => object;

  constructor(none: undefined | null, change: (tuple: Fields) => object) {
    super();
    this.#none = none;
    this.#change = change;
  }

  override async getTuple(...given: Parameters<MemorySaver["getTuple"]>) {
    const tuple = await super.getTuple(...given);
    return (tuple === undefined ? this.#none : this.#change(tuple)) as CheckpointTuple | undefined;
  }

  override async *list(...given: Parameters<MemorySaver["list"]>) {
    for await (const tuple of super.list(...given)) yield this.#change(tuple) as CheckpointTuple;
  }
}

const empty =
  (...names: (keyof CheckpointTuple)[]) =>
  (tuple: Fields) =>
    Object.fromEntries(
      Object.entries(tuple).filter(
        ([name, value]) => !names.includes(name as keyof CheckpointTuple) || [value ?? []].flat().length > 0,
      ),
    );
const nulled =
  (...names: (keyof CheckpointTuple)[]) =>
  (tuple: Fields) => ({
    ...Object.fromEntries(names.map((name) => [name, null])),
    ...empty(...names)(tuple),
  });

const KINDS: Readonly<Record<string, readonly [none: undefined | null, change: (tuple: Fields) => object]>> =
  {
    "null for no thread": [null, (tuple) => tuple],
    "null for no writes": [undefined, nulled("pendingWrites")],
    "nothing for no writes": [undefined, empty("pendingWrites")],
    "null for no parent": [undefined, nulled("parentConfig")],
    "a parent without an id": [
      undefined,
      (tuple) => ({
        ...tuple,
        parentConfig: tuple.parentConfig ?? { configurable: { thread_id: "1", checkpoint_id: null } },
      }),
    ],
    "null for each kind of nothing": [null, nulled("pendingWrites", "parentConfig", "metadata")],
  };

/** The same for tuples that never have a field. */
const LOSSES: typeof KINDS = {
  "never any writes": [null, (tuple) => ({ ...tuple, pendingWrites: null })],
  "never any metadata": [null, (tuple) => ({ ...tuple, metadata: null })],
  "never a parent": [null, (tuple) => ({ ...tuple, parentConfig: null })],
};

const model = () =>
  new FunctionModel(({ messages }) => {
    const last = messages.at(-1);
    return last?.type === "human" && last.text.startsWith("call")
      ? calls(["fast", {}, "f"], ["heedful", {}, "h"])
      : "Yes.";
  });

const AGENTS = {
  createAgentGraph: (checkpointer: MemorySaver, tools: never) =>
    createAgentGraph({ model: model(), tools, checkpointer }),
  tetherMiddleware: (checkpointer: MemorySaver, tools: never) =>
    createAgent({ model: model(), tools, checkpointer, middleware: [tetherMiddleware()] }).graph,
} as const;

const config = { ...inThread("1"), durability: "sync" } as const;

/** Plays a turn, a cancelled one, and two more, and reads the thread in every way. */
async function play(name: keyof typeof AGENTS, checkpointer: MemorySaver) {
  const probe = createProbe();
  const graph = AGENTS[name](checkpointer, [probe.fast, probe.heedful] as never) as ReturnType<
    (typeof AGENTS)["createAgentGraph"]
  >;
  const send = (text: string, more: object = {}) => graph.invoke(user(text) as never, { ...config, ...more });
  // LangGraph's own graph reads and updates no such thread outside a run.
  if (name === "createAgentGraph") expect((await graph.getState(config)).values.messages).toEqual([]);
  await send("Hello.");
  await abortRun(
    (signal) => send("call", { signal }),
    () => probe.hasBegun(2),
  );
  await turns();
  const store = createGraphStore({ graph: graph as never, quietMs: 0 });
  const { outcome } = diagnoseThread(await store.read({ threadId: "1", namespace: "" }));
  await send("And now?");
  if (name === "createAgentGraph") await graph.updateState(config, user("By update.") as never);
  await send("Well?");
  const states = await allOf<{ values: { messages?: BaseMessage[] } }>(graph.getStateHistory(config));
  return {
    read: pairedScript((await graph.getState(config)).values),
    whole: (await readFullHistory(checkpointer, config)).length,
    states: states.length,
    outcome,
  };
}

describe.each(["createAgentGraph", "tetherMiddleware"] as const)(
  "%s over a checkpointer that has",
  (name) => {
    it.each(rowsOf(KINDS))("%s", async (_, none, change) => {
      expect(await play(name, new OddSaver(none, change))).toEqual(await play(name, new MemorySaver()));
    });

    it.each(rowsOf(LOSSES))("%s", async (_, none, change) => {
      const { read } = await play(name, new OddSaver(none, change));
      // What is not saved cannot be recovered.
      expect(read.filter((line) => !/^tool|update/.test(line))).toEqual(
        lines(
          "human: Hello. | ai: Yes. | human: call | ai> fast heedful | human: And now? | ai: Yes. | human: Well? | ai: Yes.",
        ),
      );
    });
  },
);

it("What a checkpointer's `put` returns is not needed", async () => {
  const saver = new MemorySaver();
  const put = saver.put.bind(saver);
  saver.put = async (...given) => {
    await put(...given);
    return null as never;
  };
  const { read } = await play("createAgentGraph", saver);
  expect(read).toEqual((await play("createAgentGraph", new MemorySaver())).read);
});
