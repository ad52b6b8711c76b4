/** Broken threads of graphs that are not ours, and a checkpointer that fails. */

import { appendFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  emptyCheckpoint,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  applyRepair,
  createGraphStore,
  diagnoseThread,
  openReceipt,
  planRepair,
  readReceipt,
  undo,
} from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { approve, asInput } from "../support/approval-graph.js";
import { allOf } from "../support/async.js";
import { replaceMethods } from "../support/internals.js";
import { ai, human, removal, result } from "../support/make-messages.js";
import { calls, FunctionModel } from "../support/models.js";
import { mortalSaver } from "../support/mortal-saver.js";
import { strictViolations } from "../support/strict-check.js";
import { inThread, pairedScript, script, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";
import { codesOf, memoryReceipt, repair, undone } from "./repair.js";

const config = inThread("1");
const DANGLING = [human("u"), ai("a", "c"), human("v")];
const died = () => {
  throw new Error("The process has died.");
};

type Node = (state: { messages: BaseMessage[] }) => { messages?: BaseMessage[] };

/** A graph over LangGraph's own reducer, whose nodes run one after the other. */
function sequence(
  nodes: Readonly<Record<string, Node>>,
  options: Parameters<StateGraph<unknown>["compile"]>[0] = {},
) {
  const [first = ""] = Object.keys(nodes);
  return new StateGraph(MessagesAnnotation)
    .addSequence(nodes)
    .addEdge(START, first)
    .compile({ checkpointer: new MemorySaver(), ...options });
}

/** A thread of a graph whose own reducer appends whatever comes. */
async function threadWith(
  messages: readonly unknown[],
  checkpointer: BaseCheckpointSaver = new MemorySaver(),
) {
  const state = Annotation.Root({
    messages: Annotation<unknown[]>({ reducer: (list, more) => [...list, ...more], default: () => [] }),
    counter: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  });
  const graph = new StateGraph(state)
    .addNode("model", () => ({}))
    .addEdge(START, "model")
    .compile({ checkpointer });
  await graph.invoke({ messages: [...messages], counter: 7 }, config);
  const stored = async () => {
    const { content } = await createGraphStore({ graph }).read({
      threadId: config.configurable.thread_id,
      namespace: "",
    });
    return content.kind === "read" ? [...content.messages] : [];
  };
  return { graph, config, messages: stored, ids: async () => idsOf(await stored()) };
}

const jsonOf = (list: readonly unknown[]) => list.map((value) => JSON.stringify(value));
const idsOf = (list: readonly unknown[]) => list.map((value) => (value as BaseMessage).id);

it("plain objects in place of messages, and a value that is none: no other value is touched, and undo restores each byte", async () => {
  const call = { id: "c", name: "look", args: {}, type: "tool_call" };
  const place = await threadWith([
    { type: "human", content: "Go.", id: "u" },
    { type: "ai", content: "", id: "a", tool_calls: [call], odd: { x: [1, null] } },
    { type: "nothing" },
    { type: "human", content: "Hello?", id: "v", extra: true },
  ]);
  const report = await diagnoseThread(place);
  expect(codesOf(report)).toEqual(["content/not-a-message", "pairing/dangling-call"]);
  const before = jsonOf(await place.messages());
  expect(await planRepair(place)).toMatchObject({ unplaced: [{ messageId: null }] });
  const entries = await repair(place);
  const { values, next } = await place.graph.getState(config);
  expect({ counter: values.counter, next }).toEqual({ counter: 7, next: [] });
  const [first, second, _, last] = before;
  const closing = expect.stringContaining('"tool_call_id":"c"');
  expect(jsonOf(await place.messages())).toEqual([first, second, closing, last]);
  expect(await planRepair(place)).toMatchObject({ kind: "nothing" });
  for (const kind of ["restored", "unchanged"]) {
    expect(await undone(createGraphStore({ graph: place.graph }), entries)).toEqual([kind]);
    expect(jsonOf(await place.messages())).toEqual(before);
    expect((await diagnoseThread(place)).findings).toEqual(report.findings);
  }
});

it.each(["sync", "async", "exit"] as const)(
  "results that a later message discarded are found, and put in their places: %s",
  async (durability) => {
    let turn = 0;
    // One tool finishes, and the other one fails with its run. Then come messages to which no model responds.
    const tools = async ({ call }: { call: string }) => {
      if (call === "fast") return { messages: [result("", call, "found")] };
      await new Promise((resolve) => setTimeout(resolve, 20));
      return died();
    };
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", () => {
        turn += 1;
        return turn > 1 ? died() : { messages: [ai("a", "fast", "slow")] };
      })
      .addNode("tool", tools, { input: Annotation.Root({ call: Annotation<string> }) })
      .addEdge(START, "agent")
      .addConditionalEdges("agent", () => ["fast", "slow"].map((call) => new Send("tool", { call })), [
        "tool",
      ])
      .compile({ checkpointer: new MemorySaver() });
    for (const id of ["u", "v", "w"])
      await graph.invoke({ messages: [human(id)] }, { ...config, durability }).catch(() => {});
    const { findings } = await diagnoseThread({ graph, config });
    expect(findings.map(({ code, callId }) => `${code} ${callId}`)).toEqual([
      "pairing/dangling-call fast",
      "state/pending-result fast",
      "pairing/dangling-call slow",
    ]);
    await repair({ graph, config });
    expect(script((await graph.getState(config)).values.messages)).toEqual([
      "human: text of u",
      "ai> tool_fast tool_slow",
      "tool: found",
      expect.stringMatching(/^tool! Tool call tool_slow \(slow\): a new message came/),
      "human: text of v",
      "human: text of w",
    ]);
  },
);

it("the result of an approved call is found if the process died at its checkpoint, with a delta channel and the durability `exit`", async () => {
  const saver = new MemorySaver();
  const options = { ...config, durability: "exit" as const };
  const agent = (checkpointer: BaseCheckpointSaver) =>
    createAgentGraph({
      model: new FunctionModel(({ text }) => (text === "go" ? calls(["look", {}, "a"]) : "fine")),
      tools: [makeTool("look", async () => "it is there")],
      requireApproval: ["look"],
      checkpointer,
      messagesChannel: "delta",
    });
  const graph = agent(saver);
  await graph.invoke(user("go"), options);
  const { mortal, die } = mortalSaver(saver, ["put"]);
  die();
  const killed = agent(mortal).invoke(asInput({ resume: { decisions: [approve] } }), options);
  await expect(killed).rejects.toThrow("died");
  const place = { graph, config, quietMs: 0 };
  expect(codesOf(await diagnoseThread(place))).toEqual(["pairing/dangling-call", "state/pending-result"]);
  await repair(place);
  const lines = ["human: go", "ai> look", "tool: it is there"];
  expect(pairedScript((await graph.getState(config)).values)).toEqual(lines);
  expect(pairedScript(await graph.invoke(user("and now?"), options)).slice(0, 3)).toEqual(lines);
});

describe("a thread that its own graph cannot read is found, repaired, and can be read again", () => {
  it("because a task has written a removal of a message that is not there", async () => {
    const graph = sequence({ first: () => ({}), second: () => ({ messages: [removal("m9")] }) });
    await expect(graph.invoke({ messages: DANGLING }, config)).rejects.toThrow();
    await expect(graph.getState(config)).rejects.toThrow("m9");
    expect(codesOf(await diagnoseThread({ graph, config }))).toEqual([
      "thread/bricked",
      "pairing/dangling-call",
    ]);
    await repair({ graph, config });
    const { messages } = (await graph.getState(config)).values;
    expect(strictViolations(messages)).toEqual([]);
    expect(idsOf(messages)).toEqual(["u", "a", expect.any(String), "v"]);
  });

  it("because a value is nested too deep", async () => {
    let deep: unknown = "end";
    for (let level = 0; level < 60; level += 1) deep = { deep };
    const nested = new AIMessage({ id: "a", content: "x", additional_kwargs: { deep } as never });
    const place = await threadWith([human("u"), nested]);
    await expect(place.graph.getState(config)).rejects.toThrow();
    expect(codesOf(await diagnoseThread(place))).toEqual(["thread/bricked", "content/too-deep"]);
    const [intent] = await repair(place);
    expect(idsOf((await place.graph.getState(config)).values.messages)).toEqual(["u", "a"]);
    expect(JSON.stringify(intent)).toContain('"end"');
  });
});

describe("a thread that must not be changed", () => {
  const asking = { messages: [human("u"), ai("a", "c")] };

  it("waits for a human: it is sound, and skipped", async () => {
    const ask = () => ({ messages: [result("r", interrupt<string, string>("May I?"))] });
    const graph = sequence({ ask });
    await graph.invoke(asking, config);
    const report = await diagnoseThread({ graph, config });
    expect(report).toMatchObject({ outcome: "sound", status: "interrupted" });
    expect(codesOf(report)).toEqual(["state/waiting-for-approval"]);
    expect(await planRepair({ graph, config })).toMatchObject({ kind: "skip", reason: "waiting" });
    await graph.invoke(new Command({ resume: "c" }), config);
    expect((await diagnoseThread({ graph, config })).findings).toEqual([]);
  });

  it("stops before its tools, for a human who decides without an interrupt", async () => {
    const graph = sequence({ tools: () => ({}) }, { interruptBefore: ["tools"] as never });
    await graph.invoke(asking, config);
    expect(await planRepair({ graph, config })).toMatchObject({ kind: "skip", reason: "waiting" });
  });

  it("is the state of a subgraph: it is listed, and skipped", async () => {
    const inner = sequence({ inner: died }, { checkpointer: true });
    const graph = sequence({ outer: inner as never });
    await expect(graph.invoke({ messages: DANGLING }, config)).rejects.toThrow();
    const store = createGraphStore({ graph });
    const refs = await allOf<{ namespace: string }>(store.threads({}));
    expect(refs.map(({ namespace }) => namespace).sort()).toEqual(["", "outer"]);
    const inside = await store.read({ threadId: "1", namespace: "outer" });
    expect(codesOf(diagnoseThread(inside))).toEqual(["state/subgraph", "pairing/dangling-call"]);
    expect(planRepair(inside)).toMatchObject({ kind: "skip", reason: "subgraph" });
  });

  it("is what a task of a subgraph has left: no later message is sent with it, so it is no fault", async () => {
    const inner = new StateGraph(MessagesAnnotation).addNode("inner", died).addEdge(START, "inner").compile();
    const graph = sequence({ outer: inner as never });
    await expect(graph.invoke({ messages: DANGLING }, config)).rejects.toThrow();
    const store = createGraphStore({ graph });
    const refs = await allOf<{ threadId: string; namespace: string }>(store.threads({}));
    const inside = refs.filter(({ namespace }) => namespace.startsWith("outer:"));
    const reports = await Promise.all(inside.map(async (found) => diagnoseThread(await store.read(found))));
    expect(reports).toMatchObject([
      {
        outcome: "sound",
        findings: [{ code: "state/subgraph" }, { code: "pairing/dangling-call", severity: "info" }],
      },
    ]);
  });

  it("ended with calls that its client may answer: it is reported, and closed only on demand", async () => {
    const place = await threadWith(asking.messages);
    expect((await diagnoseThread(place)).findings).toMatchObject([
      { code: "pairing/open-call", severity: "warning" },
    ]);
    expect(await planRepair(place)).toMatchObject({ kind: "nothing" });
    expect(await planRepair(place, { closeOpenCalls: true })).toMatchObject({ steps: [{ kind: "close" }] });
  });

  it("has moved on since its plan, or since its repair", async () => {
    const place = await threadWith(DANGLING);
    const plan = await planRepair(place);
    await place.graph.invoke({ messages: [human("w")] }, config);
    const receipt = memoryReceipt();
    expect(await applyRepair(place, plan, { receipt })).toMatchObject({ kind: "moved" });
    const entries = [...receipt.entries, ...(await repair(place))];
    await place.graph.invoke({ messages: [human("x")] }, config);
    const store = createGraphStore({ graph: place.graph });
    const description = expect.stringContaining("1 message");
    expect(await allOf(undo(store, entries))).toMatchObject([{ kind: "moved", description }]);
    expect(await undone(store, entries, { force: true })).toEqual(["restored"]);
    expect(await place.ids()).toEqual(["u", "a", "v", "w", "x"]);
  });

  it("gets a message while it is written, and keeps it", async () => {
    const saver = new MemorySaver();
    const place = await threadWith(DANGLING, saver);
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
    const { kind } = await applyRepair({ ...place, checkpointer }, plan, { receipt: memoryReceipt() });
    expect([kind, await place.ids()]).toEqual(["moved", ["u", "a", "v", "w"]]);
  });
});

it("a call that its human never approved is closed as such, and the one beside it as not started", async () => {
  const model = new FunctionModel(({ messages }) =>
    messages.length === 1 ? calls(["pay", {}, "p"], ["look", {}, "l"]) : died(),
  );
  const tools = ["pay", "look"].map((name) => makeTool(name, async () => "done"));
  const asks = humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never);
  const { graph } = createAgent({
    model,
    tools,
    middleware: [asks],
    checkpointer: new MemorySaver(),
  } as never);
  await graph.invoke(user("Go."), config);
  await expect(graph.invoke(user("Never mind."), config)).rejects.toThrow();
  const closings = [
    "`pay`: it was not approved, so it was not run.",
    "`look`: its run ended before it was started, so it was not run.",
  ];
  const steps = closings.map((text) => ({ description: `A result is written for the call of ${text}` }));
  expect(await planRepair({ graph, config })).toMatchObject({ kind: "write", steps });
  await repair({ graph, config });
  const { values } = await graph.getState(config);
  expect(pairedScript(values)).toEqual([
    "human: Go.",
    "ai> pay look",
    "tool! Tool call pay (p): it was not approved, so it was not run.",
    "tool! Tool call look (l): its run ended before it was started, so it was not run.",
    "human: Never mind.",
  ]);
});

describe("a thread whose last node", () => {
  const nodes = (last: string) => ({ first: () => ({}), [last]: () => ({}) });

  it("was renamed is written as another node that it has run", async () => {
    const checkpointer = new MemorySaver();
    await sequence(nodes("old"), { checkpointer }).invoke({ messages: DANGLING }, config);
    const graph = sequence(nodes("renamed"), { checkpointer });
    await repair({ graph, config });
    expect((await diagnoseThread({ graph, config })).outcome).toBe("sound");
    await graph.invoke({ messages: [human("Go on.")] }, config);
  });

  it("does not exist, as none has run, is written as the start, as LangGraph itself does", async () => {
    const checkpointer = new MemorySaver();
    const graph = sequence(nodes("last"), { checkpointer });
    const imported = {
      ...emptyCheckpoint(),
      channel_values: { messages: DANGLING },
      channel_versions: { messages: 1 },
      versions_seen: { __input__: { __start__: 1 } },
    };
    const metadata = { source: "update", step: 0, parents: {} } as const;
    await checkpointer.put({ configurable: { thread_id: "1", checkpoint_ns: "" } }, imported, metadata);
    const place = { graph, config };
    const receipt = memoryReceipt();
    expect(await applyRepair(place, await planRepair(place), { receipt })).toMatchObject({
      kind: "repaired",
    });
    expect(await undone(createGraphStore({ graph: place.graph }), receipt.entries.slice(-2))).toEqual([
      "restored",
    ]);
  });
});

describe("a checkpointer that fails at any of its operations", () => {
  /** Throws at the n-th call of one of its methods, before or after it was carried out. */
  function failing(saver: MemorySaver, at: number, when: "before" | "after") {
    let count = 0;
    const lose = (moment: string) => {
      if (count === at && when === moment) throw new Error("The connection was lost.");
    };
    const method = (name: "getTuple" | "put" | "putWrites") => ({
      [name]: async (...given: never[]) => {
        count += 1;
        lose("before");
        const returned: unknown = await Reflect.apply(saver[name], saver, given);
        lose("after");
        return returned;
      },
    });
    return replaceMethods(saver, { ...method("getTuple"), ...method("put"), ...method("putWrites") });
  }

  it.each(["before", "after"] as const)("a second run completes the work: %s it", async (when) => {
    for (let at = 1; at <= 24; at += 1) {
      const saver = new MemorySaver();
      const lost = result("x", "x", "secret outcome x");
      const list = [human("u"), ai("a", "c", "d"), result("d", "d"), human("v"), lost];
      const place = await threadWith(list, saver);
      const receipt = memoryReceipt();
      const failed = { ...place, checkpointer: failing(saver, at, when) };
      const first = await planRepair(failed)
        .then((plan) => applyRepair(failed, plan, { receipt }))
        .then(({ kind }) => kind)
        .catch(() => "threw");
      expect(["repaired", "failed", "threw", "skipped", "moved"]).toContain(first);
      const { values } = await place.graph.getState(config);
      expect([values.counter, values.messages.length]).toEqual([7, 5]);
      await applyRepair(place, await planRepair(place), { receipt });
      const repaired = (await place.graph.getState(config)).values.messages as BaseMessage[];
      expect(strictViolations(repaired)).toEqual([]);
      expect(idsOf(repaired)).toEqual(["u", "a", expect.any(String), "d", "v"]);
      expect(JSON.stringify(receipt.entries)).toContain("secret outcome x");
    }
  });
});

it("nothing is written if the receipt cannot be written", async () => {
  const place = await threadWith(DANGLING);
  const append = () => Promise.reject(new Error("The disk is full."));
  await expect(applyRepair(place, await planRepair(place), { receipt: { append } })).rejects.toThrow("disk");
  expect(await place.ids()).toEqual(["u", "a", "v"]);
});

it("a receipt in a file is private, survives a torn line, and is read back", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tether-receipt-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "receipt.jsonl");
  const place = await threadWith(DANGLING);
  await (await openReceipt(path)).close();
  appendFileSync(path, '{"schemaVersion":1,"kind":"intent","thr');
  const receipt = await openReceipt(path);
  await applyRepair(place, await planRepair(place), { receipt });
  await receipt.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const entries = await readReceipt(path);
  expect(entries.map(({ kind }) => kind)).toEqual(["intent", "result"]);
  expect(await undone(createGraphStore({ graph: place.graph }), entries)).toEqual(["restored"]);
});

it("a selection counts threads, and not their subgraphs, and compares metadata as a database does", async () => {
  const checkpointer = new MemorySaver();
  const metadata = { source: "loop", step: 0, parents: {}, tenant: 7 } as const;
  for (const place of ["1/", "1/child:a", "2/"]) {
    const [thread_id, checkpoint_ns] = place.split("/");
    await checkpointer.put({ configurable: { thread_id, checkpoint_ns } }, emptyCheckpoint(), metadata);
  }
  const store = createGraphStore({ graph: await createAgentGraph({ model: "offline:", checkpointer }) });
  const chosen = async (limit: number, tenant: string) => {
    const found = await allOf<{ threadId: string; namespace: string }>(
      store.threads({ limit, metadata: { tenant } }),
    );
    return found.map(({ threadId, namespace }) => `${threadId}/${namespace}`).sort();
  };
  expect(await chosen(2, "7")).toEqual(["1/", "1/child:a", "2/"]);
  expect(new Set((await chosen(1, "7")).map((place) => place.split("/")[0])).size).toBe(1);
  expect(await chosen(2, "8")).toEqual([]);
});
