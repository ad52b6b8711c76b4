/** Threads that no repair writes: those that their own graph repairs, and those of another graph. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, MemorySaver, StateGraph } from "@langchain/langgraph";
import { createAgent, summarizationMiddleware, todoListMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { applyRepair, createGraphStore, diagnoseThread, explain, planRepair } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { type AgentName, type AnyGraph, createDeployedAgent, TOOLS } from "../support/deployment/agents.js";
import { driveLocally } from "../support/deployment/driver.js";
import { StrictWorker } from "../support/deployment/strict-worker.js";
import { threadOfList } from "../support/internals.js";
import { messagesIn } from "../support/make-messages.js";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";
import { codesOf, memoryReceipt, repair, undone } from "./repair.js";

expectWarnings(OLD_PACKAGES);

const ref = { threadId: "1", namespace: "" };
const config = inThread("1");
const agentWith = (...middleware: readonly object[]) =>
  createAgent({ model: new StrictWorker(), tools: TOOLS, middleware } as never).graph as unknown as AnyGraph;

/** A saver, the store of a graph over it, and what it has of the thread. */
function openSaver() {
  const checkpointer = new MemorySaver();
  const storeOver = (graph: object) => createGraphStore({ graph, checkpointer, quietMs: 0 });
  const stored = async () => JSON.stringify(await checkpointer.getTuple(config));
  return { checkpointer, storeOver, stored };
}

it.each<[owner: AgentName, other: AgentName]>([
  ["langchain", "react"],
  ["deep", "langchain"],
  ["ours", "react"],
  ["react", "ours"],
  ["react", "langchain"],
])(
  "a thread of %s that is read with the graph of %s is not written, by a repair or an undo",
  async (owner, other) => {
    const { checkpointer, storeOver, stored } = openSaver();
    const driver = driveLocally(owner, checkpointer)("1");
    const [own, wrong] = [storeOver(createDeployedAgent(owner)), storeOver(createDeployedAgent(other))];
    await driver.work([
      { id: "c0", name: "count", args: { value: 3 } },
      { id: "f0", name: "write_todos", args: { todos: [{ content: "a", status: "pending" }] } },
    ]);
    await driver.cancel([{ id: "c1", name: "hold" }], 0);

    const broken = await stored();
    const seen = await wrong.read(ref);
    expect(planRepair(seen)).toMatchObject({ kind: "skip", reason: "other-graph" });
    expect(codesOf(diagnoseThread(seen))).toContain("state/other-graph");
    const plan = planRepair(await own.read(ref));
    const outcome = await applyRepair({ store: wrong, ref }, plan, { receipt: memoryReceipt() });
    expect([outcome.kind, await stored()]).toEqual(["failed", broken]);

    const entries = await repair({ store: own, ref });
    const repaired = await stored();
    expect([await undone(wrong, entries), await stored()]).toEqual([["failed"], repaired]);
    expect(await undone(own, entries)).toEqual(["restored"]);
  },
);

describe("a thread whose own graph repairs it with the next message", () => {
  const base = { model: new StrictWorker(), tools: TOOLS };
  const GRAPHS: Readonly<Record<string, () => unknown>> = {
    createAgentGraph: () => createAgentGraph(base),
    "createAgentGraph over a delta channel": () => createAgentGraph({ ...base, messagesChannel: "delta" }),
    tetherMiddleware: () => agentWith(tetherMiddleware()),
  };
  const LISTS = {
    "pairing/dangling-call": "u a(c1)",
    "pairing/orphan-result": "r:gone u",
    "pairing/duplicate-result": "u a(c1) r:c1 v s:c1",
    "pairing/misplaced-result": "u a(c1) v r:c1",
  };

  it.each(Object.entries(GRAPHS))("%s: nothing is to be done", async (_, make) => {
    for (const [code, list] of Object.entries(LISTS)) {
      const graph = (await make()) as AnyGraph;
      graph.checkpointer = new MemorySaver();
      await graph.invoke(user("Hello."), config);
      const store = createGraphStore({ graph });
      const { checkpointId } = await store.read(ref);
      await store.write(ref, { expectedCheckpointId: checkpointId, messages: messagesIn(`${list} z`) });

      const { outcome, findings } = diagnoseThread(await store.read(ref));
      expect([outcome, findings]).toMatchObject(["sound", [{ code, severity: "info" }]]);
      expect(planRepair(await store.read(ref)).kind).toBe("write");
      await graph.invoke(user("Are you well?"), config);
      expect(diagnoseThread(await store.read(ref)).findings).toEqual([]);
    }
  });

  it("is told from one whose graph does not", () => {
    const thread = threadOfList(messagesIn(LISTS["pairing/dangling-call"]));
    expect(diagnoseThread(thread).outcome).toBe("findings");
    expect(diagnoseThread({ ...thread, repairedBy: "agent" }).outcome).toBe("sound");
  });
});

describe("a graph that knows every node and every value of a thread", () => {
  /** A thread of an agent without middleware, whose last run was cancelled. */
  async function openThread() {
    const opened = openSaver();
    const graph = agentWith();
    graph.checkpointer = opened.checkpointer;
    await graph.invoke(user("Hello."), config);
    await graph.updateState(config, { messages: messagesIn("a(c1) h") });
    const planWith = async (other: object) => planRepair(await opened.storeOver(other).read(ref));
    return { ...opened, planWith };
  }

  it("and begins elsewhere with more values is refused by name, and nothing is written", async () => {
    const { planWith, storeOver, stored } = await openThread();
    const deep = createDeployedAgent("deep");
    const before = await stored();
    const description = expect.stringMatching(/begins at FilesystemMiddleware\.before_agent.*: files, /);
    expect(await planWith(deep)).toMatchObject({ kind: "skip", reason: "other-graph", description });
    const place = { store: storeOver(deep), ref };
    const outcome = await applyRepair(place, await planWith(agentWith()), { receipt: memoryReceipt() });
    expect([outcome.kind, await stored()]).toEqual(["failed", before]);
  });

  it.each<[what: string, middleware: object]>([
    ["the middleware of this library", tetherMiddleware()],
    [
      "a summary before each model call",
      summarizationMiddleware({ model: new StrictWorker(), trigger: { tokens: 9 } } as never),
    ],
    ["a list of tasks", todoListMiddleware()],
  ])("because it is the same agent that has got %s since: it writes", async (_, middleware) => {
    const { planWith } = await openThread();
    expect(await planWith(agentWith(middleware))).toMatchObject({ kind: "write" });
  });
});

/* Lists that are not LangChain's, and what looks like a fault in one that is. */

const OTHERS: Readonly<Record<string, readonly unknown[]>> = {
  "items of OpenAI's Responses API": [
    { role: "user", content: "Hi" },
    { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "clear" },
  ],
  "contents of Gemini": [
    { role: "user", parts: [{ text: "Hi" }] },
    { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] },
  ],
  "messages of Anthropic": [
    { role: "user", content: "Hi" },
    { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "clear" }] },
  ],
  "chat completions": [
    { role: "user", content: "Hi" },
    { role: "assistant", content: null, tool_calls: [{ id: "c1", function: { name: "look" } }] },
  ],
  "objects of the program": [{ from: "Ann", body: "Hi" }],
  numbers: [1, 2, 3],
  documents: [{ pageContent: "Hi", metadata: {} }],
  lists: [["user", "Hi"]],
  texts: ["Hi"],
};

it.each(Object.entries(OTHERS))("a list that is not LangChain's is left as it is: %s", async (_, list) => {
  const { checkpointer, storeOver, stored } = openSaver();
  const graph = new StateGraph(Annotation.Root({ messages: Annotation<unknown[]> }))
    .addNode("work", () => ({}))
    .addEdge("__start__", "work")
    .compile({ checkpointer });
  await graph.invoke({ messages: [...list] }, config);
  const before = await stored();
  const store = storeOver(graph);
  const thread = await store.read(ref);
  expect(diagnoseThread(thread)).toMatchObject({
    outcome: "skipped",
    findings: [{ code: "state/other-messages", severity: "info" }],
  });
  const plan = planRepair(thread);
  expect(plan).toMatchObject({ kind: "skip", reason: "other-messages" });
  await applyRepair({ store, ref }, plan, { receipt: memoryReceipt() });
  expect(await stored()).toBe(before);
});

it("a result that stands as a block in the user's message closes its call", () => {
  const list = [
    new HumanMessage("Hi"),
    new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "look", args: {} }] }),
    new HumanMessage({ content: [{ type: "tool_result", tool_use_id: "c1", content: "clear" }] }),
  ];
  const thread = threadOfList(list);
  expect(codesOf(diagnoseThread(thread))).toEqual([]);
  expect(planRepair(thread).kind).toBe("nothing");
});

it("two calls of one id within one response are a fault, and the explanation says so too", () => {
  const call = { id: "c1", name: "look", args: {} };
  const list = [
    new HumanMessage("Hi"),
    new AIMessage({ content: "", tool_calls: [call, call] }),
    new ToolMessage({ tool_call_id: "c1", content: "one" }),
    new ToolMessage({ tool_call_id: "c1", content: "two" }),
    new HumanMessage("And?"),
  ];
  expect(diagnoseThread(threadOfList(list)).findings).toMatchObject([
    { code: "pairing/duplicate-call", severity: "error", index: 1, callId: "c1" },
  ]);
  for (const dialect of ["auto", "openai", "anthropic"] as const)
    expect(explain(list, { dialect }).reasons.map(({ code }) => code)).toContain("pairing/duplicate-call");
});
