/**
 * What a receipt has of a message, and its hash: the same for every form in which a message is stored and read. And how
 * often a checkpoint is read.
 */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  type MessageFieldWithRole,
  ToolMessage,
} from "@langchain/core/messages";
import {
  Annotation,
  BaseCheckpointSaver,
  DeltaChannel,
  emptyCheckpoint,
  MemorySaver,
  StateGraph,
} from "@langchain/langgraph";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { hashList, toStoredJson } from "../../src/doctor/thread-store.js";
import { createGraphStore, diagnoseThread, planRepair } from "../../src/doctor.js";
import { pairedMessagesDeltaReducer, pinMessages } from "../support/internals.js";
import { ai, human, result } from "../support/make-messages.js";
import { inThread } from "../support/thread.js";

/** What LangGraph stores as it is, and what it stores as an object with the mark `lc: 2`. */
const leaf = fc.oneof(
  fc.constantFrom<unknown>(undefined, undefined, null, "", 0, false, {}, []),
  fc.string({ maxLength: 4 }),
  fc.integer(),
  fc.constantFrom(/x/g, new Error("odd"), new Map([["a", 1]]), new Set([1, "b"]), new Uint8Array([1, 2])),
);
const { value: anything, record } = fc.letrec<{ value: unknown; record: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie("value"), { maxLength: 2 }), tie("record")),
  record: fc.dictionary(fc.constantFrom("a", "b", "audio", "function_call", "type"), tie("value"), {
    maxKeys: 3,
  }),
}));

const usage = fc.record({
  input_tokens: fc.nat(),
  output_tokens: fc.nat(),
  total_tokens: fc.nat(),
  input_token_details: fc.option(record, { nil: undefined }),
  output_token_details: fc.option(record, { nil: undefined }),
});
const call = fc.record({ id: fc.constantFrom("c1", "c2"), name: fc.constant("look"), args: record });

const message: fc.Arbitrary<BaseMessage> = fc
  .record({
    type: fc.constantFrom("ai", "human", "tool"),
    content: fc.string({ maxLength: 5 }),
    additional_kwargs: record,
    response_metadata: record,
    artifact: anything,
    usage_metadata: fc.option(usage, { nil: undefined }),
    tool_calls: fc.array(call, { maxLength: 2 }),
  })
  .map(({ type, artifact, usage_metadata, tool_calls, ...fields }) => {
    if (type === "human") return new HumanMessage({ id: "m", ...fields });
    if (type === "tool") return new ToolMessage({ id: "m", ...fields, artifact, tool_call_id: "c1" });
    return new AIMessage({ id: "m", ...fields, tool_calls, usage_metadata } as never);
  });

/** A message as a checkpointer has it, as LangGraph reads it, and as the doctor reads it. */
async function formsOf(value: BaseMessage) {
  const saver = new MemorySaver();
  const [, bytes] = await saver.serde.dumpsTyped(value);
  const checkpoint = { ...emptyCheckpoint(), channel_values: { messages: [value] } };
  const config = inThread("1");
  await saver.put({ configurable: { ...config.configurable, checkpoint_ns: "" } }, checkpoint, {
    source: "update",
    step: 0,
    parents: {},
  });
  const listIn = async (from: Pick<MemorySaver, "getTuple">) =>
    (await from.getTuple(config))?.checkpoint.channel_values["messages"] as unknown[];
  return {
    stored: JSON.parse(new TextDecoder().decode(bytes)) as unknown,
    read: (await listIn(saver))[0],
    pinned: (await listIn(pinMessages(saver)))[0],
  };
}

describe("the hash of a list", () => {
  it("is that of what is stored, of what is read back, and of the receipt", async () => {
    await fc.assert(
      fc.asyncProperty(message, async (value) => {
        const { stored, read, pinned } = await formsOf(value);
        const inReceipt = [read, pinned].map((form) => JSON.parse(JSON.stringify(toStoredJson(form))));
        const hashes = [value, stored, read, pinned, ...inReceipt].map((form) => hashList([form]));
        expect(hashes).toEqual(hashes.map(() => hashList([stored])));
        expect(inReceipt[1]).toEqual(stored);
      }),
    );
  });

  it("does not depend on the form of a message", () => {
    const forms: unknown[] = [
      new AIMessage({ id: "m", content: "x", additional_kwargs: { function_call: undefined } } as never),
      { role: "assistant", content: "x" } satisfies MessageFieldWithRole,
      {
        type: "ai",
        content: "x",
        id: "other",
        additional_kwargs: { function_call: { lc: 2, type: "undefined" } },
      },
    ];
    expect(new Set(forms.map((form) => hashList([form]))).size).toBe(1);
  });

  it("differs if a message says something else, at any depth", () => {
    fc.assert(
      fc.property(message, record, fc.integer(), (value, data, number) => {
        const withNumber = (last: number) =>
          new AIMessage({
            id: "m",
            content: value.content,
            additional_kwargs: { data: { ...data, last } },
          } as never);
        expect(hashList([withNumber(number)])).not.toBe(hashList([withNumber(number + 1)]));
      }),
    );
  });
});

describe("a thread with a delta channel", () => {
  const config = inThread("1");

  function deltaGraph(snapshotFrequency: number, saver = SqliteSaver.fromConnString(":memory:")) {
    const messages = () => new DeltaChannel<BaseMessage[]>(pairedMessagesDeltaReducer, { snapshotFrequency });
    return new StateGraph(Annotation.Root({ messages: messages as never }))
      .addNode("model", () => ({}))
      .addEdge("__start__", "model")
      .compile({ checkpointer: saver });
  }

  it("is read with queries that grow with its length only, if its first call has no result", async () => {
    const countReads = async (updates: number): Promise<number> => {
      const graph = deltaGraph(1_000);
      await graph.updateState(config, { messages: [ai("m0", "c0")] } as never, "model");
      for (let index = 1; index < updates; index += 1)
        await graph.updateState(config, { messages: [human(`m${index}`)] } as never, "model");
      const getTuple = vi.spyOn(graph.checkpointer as SqliteSaver, "getTuple");
      await createGraphStore({ graph }).read({ threadId: config.configurable.thread_id, namespace: "" });
      return getTuple.mock.calls.length;
    };
    const reads = [await countReads(20), await countReads(40)] as const;
    expect(reads[1]).toBeLessThan(reads[0] * 2.2);
  });

  it("keeps the stored JSON of the messages in a snapshot beside a write that cannot be read", async () => {
    const saver = SqliteSaver.fromConnString(":memory:");
    const value = new HumanMessage({ id: "m", content: "x", additional_kwargs: { odd: undefined } });
    const unreadable = { lc: 1, type: "constructor", id: ["langchain_core", "messages", "None"], kwargs: {} };
    const metadata = { source: "update", step: 0, parents: {} } as const;
    const snapshot = { ...emptyCheckpoint(), channel_values: { messages: new DeltaSnapshot([value]) } };
    const start = { configurable: { ...config.configurable, checkpoint_ns: "" } };
    const parent = await saver.put(start, snapshot, metadata);
    await saver.putWrites(parent, [["messages", [unreadable]]], "task");
    const latest = await saver.put(parent, { ...emptyCheckpoint(), id: "1" }, metadata);
    const pinned = pinMessages(saver);
    const { messages } = await pinned.getDeltaChannelHistory({ config: latest, channels: ["messages"] });
    expect(messages?.writes.map(([, , written]) => written)).toEqual([[unreadable]]);
    const [, stored] = await saver.serde.dumpsTyped(messages?.seed);
    const [, bytes] = await saver.serde.dumpsTyped(new DeltaSnapshot([value]));
    expect(new TextDecoder().decode(stored)).toBe(new TextDecoder().decode(bytes));
  });

  it("has the findings and the plan that it has if each walk reads all of its checkpoints", async () => {
    const update = fc.record({
      kind: fc.constantFrom("human", "call", "result", "input"),
      /** How many updates before the latest one it continues: more than 0 makes a branch. */
      back: fc.constantFrom(0, 0, 0, 1, 3),
    });
    const updates = fc.array(update, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(updates, fc.constantFrom(2, 4, 100), async (list, snapshotFrequency) => {
        const saver = SqliteSaver.fromConnString(":memory:");
        const graph = deltaGraph(snapshotFrequency, saver);
        const places: (typeof config)[] = [config];
        for (const [index, { kind, back }] of list.entries()) {
          const from = places.at(-1 - back) ?? config;
          const message =
            kind === "call"
              ? ai(`m${index}`, `c${index}`)
              : kind === "result"
                ? result(`m${index}`, `c${index - 1}`)
                : human(`m${index}`);
          const values = { messages: [message] } as never;
          if (kind === "input") await graph.invoke(values, from);
          else await graph.updateState(from, values, "model");
          places.push((await graph.getState(config)).config as typeof config);
        }
        const told = async () => {
          const thread = await createGraphStore({ graph }).read({
            threadId: config.configurable.thread_id,
            namespace: "",
          });
          return [toStoredJson(thread), diagnoseThread(thread), planRepair(thread)];
        };
        const shared = await told();
        // A method of its own is asked each time.
        saver.getDeltaChannelHistory = BaseCheckpointSaver.prototype.getDeltaChannelHistory;
        expect(shared).toEqual(await told());
      }),
      { numRuns: Number(process.env["RUNS"] ?? 30) },
    );
  });
});
