/** Broken threads of graphs that are not ours, and a checkpointer that fails. */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  applyRepair,
  createGraphStore,
  diagnoseThread,
  openReceipt,
  planRepair,
  type ReceiptEntry,
  readReceipt,
  readThread,
  undo,
} from "../../src/doctor.js";
import { replaceMethods } from "../../src/threads/langgraph/replace-methods.js";
import { strictViolations } from "../support/strict-check.js";
import { inThread, script } from "../support/thread.js";

const config = inThread("1");
const human = (id: string) => new HumanMessage({ id, content: `secret words of ${id}` });
const ai = (id: string, ...ids: string[]) =>
  new AIMessage({ id, content: "", tool_calls: ids.map((call) => ({ id: call, name: "look", args: {} })) });
const result = (call: string, id = `r-${call}`, content = `secret outcome ${call}`) =>
  new ToolMessage({ id, tool_call_id: call, name: "look", content });

/** A graph of a user whose own reducer appends whatever comes. */
function appendingGraph(checkpointer: BaseCheckpointSaver = new MemorySaver()) {
  const state = Annotation.Root({
    messages: Annotation<unknown[]>({ reducer: (list, more) => [...list, ...more], default: () => [] }),
    counter: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  });
  return new StateGraph(state)
    .addNode("model", () => ({}))
    .addEdge(START, "model")
    .compile({ checkpointer });
}

async function threadWith(messages: readonly unknown[], checkpointer?: BaseCheckpointSaver) {
  const graph = appendingGraph(checkpointer);
  await graph.invoke({ messages: [...messages], counter: 7 }, config);
  return { graph, config };
}

function memoryReceipt() {
  const entries: ReceiptEntry[] = [];
  return { entries, append: async (entry: ReceiptEntry) => void entries.push(entry) };
}

async function listOf(place: { graph: object; config: object }): Promise<unknown[]> {
  const { content } = await readThread(place);
  return content.kind === "read" ? [...content.messages] : [];
}

const jsonOf = (list: readonly unknown[]) => list.map((value) => JSON.stringify(value));
const idsOf = (list: readonly unknown[]) => list.map((value) => (value as BaseMessage).id);

it("plain objects in place of messages, and a value that is none: no other value is touched, and undo restores each byte", async () => {
  const place = await threadWith([
    { role: "user", content: "Go.", id: "u" },
    {
      role: "assistant",
      content: "",
      id: "a",
      tool_calls: [{ id: "c", name: "look", args: {}, type: "tool_call" }],
      odd: { x: [1, null] },
    },
    { type: "nothing" },
    { role: "user", content: "Hello?", id: "v", extra: true },
  ]);
  const report = await diagnoseThread(place);
  expect(report.findings.map(({ code }) => code)).toEqual(["content/not-a-message", "pairing/dangling-call"]);
  const before = jsonOf(await listOf(place));
  const plan = await planRepair(place);
  expect(plan).toMatchObject({ unplaced: [{ messageId: null }] });
  const receipt = memoryReceipt();
  expect(await applyRepair(place, plan, { receipt })).toMatchObject({ kind: "repaired" });
  const { values, next } = await place.graph.getState(config);
  expect({ counter: values.counter, next }).toEqual({ counter: 7, next: [] });
  const [first, second, _, last] = before;
  expect(jsonOf(await listOf(place))).toEqual([
    first,
    second,
    expect.stringContaining('"tool_call_id":"c"'),
    last,
  ]);
  expect(await planRepair(place)).toMatchObject({ kind: "nothing" });

  const store = createGraphStore({ graph: place.graph });
  for (const kind of ["restored", "unchanged"]) {
    expect(await all(undo(store, receipt.entries))).toMatchObject([{ kind }]);
    expect(jsonOf(await listOf(place))).toEqual(before);
    expect((await diagnoseThread(place)).findings).toEqual(report.findings);
  }
});

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe("results that a later message discarded", () => {
  /** One tool finishes, and the other one fails with its run. Then come messages to which no model responds. */
  async function discard(durability: "sync" | "async" | "exit") {
    const saver = new MemorySaver();
    let turn = 0;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", () => {
        turn += 1;
        if (turn > 1) throw new Error("400 Bad history.");
        return { messages: [ai("a", "fast", "slow")] };
      })
      .addNode(
        "tool",
        async ({ call }: { call: string }) => {
          if (call === "fast")
            return { messages: [new ToolMessage({ tool_call_id: call, name: "look", content: "found" })] };
          await new Promise((resolve) => setTimeout(resolve, 20));
          throw new Error("The process has died.");
        },
        { input: Annotation.Root({ call: Annotation<string> }) },
      )
      .addEdge(START, "agent")
      .addConditionalEdges("agent", () => ["fast", "slow"].map((call) => new Send("tool", { call })), [
        "tool",
      ])
      .compile({ checkpointer: saver });
    for (const id of ["u", "v", "w"])
      await graph.invoke({ messages: [human(id)] }, { ...config, durability }).catch(() => {});
    return { graph, config };
  }

  it.each(["sync", "async", "exit"] as const)(
    "are found, and put in their places: %s",
    async (durability) => {
      const place = await discard(durability);
      const report = await diagnoseThread(place);
      expect(report.findings.map(({ code, callId }) => `${code} ${callId}`)).toEqual([
        "pairing/dangling-call fast",
        "state/pending-result fast",
        "pairing/dangling-call slow",
      ]);
      const receipt = memoryReceipt();
      expect(await applyRepair(place, await planRepair(place), { receipt })).toMatchObject({
        kind: "repaired",
      });
      expect(script((await place.graph.getState(config)).values.messages)).toEqual([
        "human: secret words of u",
        "ai> look look",
        "tool: found",
        expect.stringMatching(/^tool! Tool call look \(slow\): a new message came/),
        "human: secret words of v",
        "human: secret words of w",
      ]);
    },
  );
});

describe("a bricked thread", () => {
  /** Its run died when a task had written a removal of a message that is not there. */
  async function brick() {
    const saver = new MemorySaver();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("first", () => ({}))
      .addNode("second", () => ({ messages: [new RemoveMessage({ id: "m9" })] }))
      .addEdge(START, "first")
      .addEdge("first", "second")
      .compile({ checkpointer: saver });
    await expect(
      graph.invoke({ messages: [human("u"), ai("a", "c"), human("v")] }, config),
    ).rejects.toThrow();
    return { graph, config };
  }

  it("is found, and its own graph reads it after the repair", async () => {
    const place = await brick();
    await expect(place.graph.getState(config)).rejects.toThrow("m9");
    const report = await diagnoseThread(place);
    expect(report.findings.map(({ code }) => code)).toEqual(["thread/bricked", "pairing/dangling-call"]);
    const receipt = memoryReceipt();
    expect(await applyRepair(place, await planRepair(place), { receipt })).toMatchObject({
      kind: "repaired",
    });
    const { values } = await place.graph.getState(config);
    expect(strictViolations(values.messages)).toEqual([]);
    expect(idsOf(values.messages)).toEqual(["u", "a", expect.any(String), "v"]);
  });
});

it("a value nested too deep is found and mended, and the thread can be read again", async () => {
  let deep: unknown = "end";
  for (let level = 0; level < 60; level += 1) deep = { deep };
  const place = await threadWith([
    human("u"),
    new AIMessage({ id: "a", content: "x", additional_kwargs: { deep } as never }),
  ]);
  await expect(place.graph.getState(config)).rejects.toThrow();
  const report = await diagnoseThread(place);
  expect(report.findings.map(({ code }) => code)).toEqual(["thread/bricked", "content/too-deep"]);
  const receipt = memoryReceipt();
  expect(await applyRepair(place, await planRepair(place), { receipt })).toMatchObject({ kind: "repaired" });
  expect(idsOf((await place.graph.getState(config)).values.messages)).toEqual(["u", "a"]);
  expect(JSON.stringify(receipt.entries[0])).toContain('"end"');
});

describe("a thread that must not be changed", () => {
  it("waits for a human: it is sound, and skipped", async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("ask", () => ({ messages: [result(interrupt<string, string>("May I?"))] }))
      .addEdge(START, "ask")
      .compile({ checkpointer: new MemorySaver() });
    await graph.invoke({ messages: [human("u"), ai("a", "c")] }, config);
    const report = await diagnoseThread({ graph, config });
    expect(report).toMatchObject({ outcome: "sound", status: "interrupted" });
    expect(report.findings.map(({ code }) => code)).toEqual(["state/waiting-for-approval"]);
    expect(await planRepair({ graph, config })).toMatchObject({ kind: "skip", reason: "waiting" });
    await graph.invoke(new Command({ resume: "c" }), config);
    expect((await diagnoseThread({ graph, config })).findings).toEqual([]);
  });

  it("stops before its tools, for a human who decides without an interrupt", async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", () => ({ messages: [result("c")] }))
      .addEdge(START, "tools")
      .compile({ checkpointer: new MemorySaver(), interruptBefore: ["tools"] });
    await graph.invoke({ messages: [human("u"), ai("a", "c")] }, config);
    expect(await planRepair({ graph, config })).toMatchObject({ kind: "skip", reason: "waiting" });
  });

  it("is the state of a subgraph: it is listed, and skipped", async () => {
    const inner = new StateGraph(MessagesAnnotation)
      .addNode("inner", () => {
        throw new Error("The run has died.");
      })
      .addEdge(START, "inner")
      .compile({ checkpointer: true });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("outer", inner)
      .addEdge(START, "outer")
      .compile({ checkpointer: new MemorySaver() });
    await expect(
      graph.invoke({ messages: [human("u"), ai("a", "c"), human("v")] }, config),
    ).rejects.toThrow();
    const store = createGraphStore({ graph });
    const refs = await all(store.threads({}));
    expect(refs.map(({ namespace }) => namespace).sort()).toEqual(["", "outer"]);
    const inside = await store.read({ threadId: "1", namespace: "outer" });
    expect(diagnoseThread(inside).findings.map(({ code }) => code)).toEqual([
      "state/subgraph",
      "pairing/dangling-call",
    ]);
    expect(planRepair(inside)).toMatchObject({ kind: "skip", reason: "subgraph" });
  });

  it("ended with calls that its client may answer: it is reported, and closed only on demand", async () => {
    const place = await threadWith([human("u"), ai("a", "c")]);
    expect((await diagnoseThread(place)).findings).toMatchObject([
      { code: "pairing/open-call", severity: "warning" },
    ]);
    expect(await planRepair(place)).toMatchObject({ kind: "nothing" });
    expect(await planRepair(place, { closeOpenCalls: true })).toMatchObject({ steps: [{ kind: "close" }] });
  });

  it("has moved on since its plan, or since its repair", async () => {
    const place = await threadWith([human("u"), ai("a", "c"), human("v")]);
    const plan = await planRepair(place);
    await place.graph.invoke({ messages: [human("w")] }, config);
    const receipt = memoryReceipt();
    expect(await applyRepair(place, plan, { receipt })).toMatchObject({ kind: "moved" });
    expect(await applyRepair(place, await planRepair(place), { receipt })).toMatchObject({
      kind: "repaired",
    });
    await place.graph.invoke({ messages: [human("x")] }, config);
    const store = createGraphStore({ graph: place.graph });
    const [last] = await all(undo(store, receipt.entries));
    expect(last).toMatchObject({ kind: "moved", description: expect.stringContaining("1 message") });
    const [forced] = await all(undo(store, receipt.entries, { force: true }));
    expect(forced).toMatchObject({ kind: "restored" });
    expect(idsOf(await listOf(place))).toEqual(["u", "a", "v", "w", "x"]);
  });
});

it("a thread that gets a message while it is written has moved, and keeps the message", async () => {
  const saver = new MemorySaver();
  const place = await threadWith([human("u"), ai("a", "c"), human("v")], saver);
  const plan = await planRepair(place);
  let reads = 0;
  const checkpointer = replaceMethods(saver, {
    getTuple: async (given) => {
      const tuple = await saver.getTuple(given);
      reads += 1;
      if (reads === 1) await place.graph.invoke({ messages: [human("w")] }, config);
      return tuple;
    },
  });
  const outcome = await applyRepair({ ...place, checkpointer }, plan, { receipt: memoryReceipt() });
  expect([outcome.kind, idsOf(await listOf(place))]).toEqual(["moved", ["u", "a", "v", "w"]]);
});

describe("a checkpointer that fails at any of its operations", () => {
  /** Throws at the n-th call of one of its methods, before or after it was carried out. */
  function failing(saver: MemorySaver, at: number, when: "before" | "after") {
    let count = 0;
    return new Proxy(saver, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name !== "getTuple" && name !== "put" && name !== "putWrites") return value.bind(target);
        return async (...given: unknown[]) => {
          count += 1;
          if (count === at && when === "before") throw new Error("The connection was lost.");
          const returned: unknown = await Reflect.apply(value, target, given);
          if (count === at) throw new Error("The connection was lost.");
          return returned;
        };
      },
    });
  }

  it.each(["before", "after"] as const)("a second run completes the work: %s it", async (when) => {
    for (let at = 1; at <= 24; at += 1) {
      const saver = new MemorySaver();
      const place = await threadWith(
        [human("u"), ai("a", "c", "d"), result("d"), human("v"), result("x")],
        saver,
      );
      const receipt = memoryReceipt();
      const failed = { ...place, checkpointer: failing(saver, at, when) };
      const first = await planRepair(failed)
        .then((plan) => applyRepair(failed, plan, { receipt }))
        .then(({ kind }) => kind)
        .catch(() => "threw");
      expect(["repaired", "failed", "threw", "skipped", "moved"]).toContain(first);
      const { values } = await place.graph.getState(config);
      expect(values.counter).toBe(7);
      expect([5, 5]).toContain(values.messages.length);
      await applyRepair(place, await planRepair(place), { receipt });
      const list = (await place.graph.getState(config)).values.messages as BaseMessage[];
      expect(strictViolations(list)).toEqual([]);
      expect(idsOf(list)).toEqual(["u", "a", expect.any(String), "r-d", "v"]);
      expect(JSON.stringify(receipt.entries)).toContain("secret outcome x");
    }
  });

  it("writes nothing if the receipt cannot be written", async () => {
    const place = await threadWith([human("u"), ai("a", "c"), human("v")]);
    const append = async () => {
      throw new Error("The disk is full.");
    };
    await expect(applyRepair(place, await planRepair(place), { receipt: { append } })).rejects.toThrow(
      "disk",
    );
    expect(idsOf(await listOf(place))).toEqual(["u", "a", "v"]);
  });
});

it("a receipt in a file is private, survives a torn line, and is read back", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tether-receipt-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "receipt.jsonl");
  const place = await threadWith([human("u"), ai("a", "c"), human("v")]);
  const torn = await openReceipt(path);
  await torn.close();
  const { appendFileSync } = await import("node:fs");
  appendFileSync(path, '{"schemaVersion":1,"kind":"intent","thr');
  const receipt = await openReceipt(path);
  await applyRepair(place, await planRepair(place), { receipt });
  await receipt.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const entries = await readReceipt(path);
  expect(entries.map(({ kind }) => kind)).toEqual(["intent", "result"]);
  expect(
    (await all(undo(createGraphStore({ graph: place.graph }), entries))).map(({ kind }) => kind),
  ).toEqual(["restored"]);
});
