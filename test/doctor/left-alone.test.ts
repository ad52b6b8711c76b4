/** Threads that no repair writes: those that their own graph mends, and those of another graph. */

import { MemorySaver } from "@langchain/langgraph";
import { createAgent, summarizationMiddleware, todoListMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { threadOfList } from "../../src/doctor/thread-store.js";
import { applyRepair, createGraphStore, diagnoseThread, planRepair } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { type AgentName, type AnyGraph, createDeployedAgent, TOOLS } from "../support/deployment/agents.js";
import { driveLocally } from "../support/deployment/driver.js";
import { StrictWorker } from "../support/deployment/strict-worker.js";
import { messagesIn } from "../support/make-messages.js";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";
import { codesOf, memoryReceipt, mend, undone } from "./mend.js";

expectWarnings(OLD_PACKAGES);

const ref = { threadId: "1", namespace: "" };
const config = inThread("1");
const agentWith = (...middleware: readonly object[]) =>
  createAgent({ model: new StrictWorker(), tools: TOOLS, middleware } as never).graph as unknown as AnyGraph;

/** A saver, the store of a graph over it, and what it has of the thread. */
function openSaver() {
  const checkpointer = new MemorySaver();
  const storeOver = (graph: object) => createGraphStore({ graph, checkpointer });
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

    const entries = await mend({ store: own, ref });
    const repaired = await stored();
    expect([await undone(wrong, entries), await stored()]).toEqual([["failed"], repaired]);
    expect(await undone(own, entries)).toEqual(["restored"]);
  },
);

describe("a thread whose own graph mends it with the next message", () => {
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
    expect(diagnoseThread({ ...thread, mendedBy: "agent" }).outcome).toBe("sound");
    expect(diagnoseThread({ ...thread, mendedBy: "agent", otherGraph: "Another." }).outcome).toBe("findings");
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
