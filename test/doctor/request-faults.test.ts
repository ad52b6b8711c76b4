/** Faults of real agents' threads that no repair writes: those that the request mends, and those of another graph. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, summarizationMiddleware, todoListMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import {
  applyRepair,
  createGraphStore,
  type DiagnoseOptions,
  diagnoseThread,
  planRepair,
  type ReceiptEntry,
  threadOfList,
  undo,
} from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { type AgentName, type AnyGraph, createDeployedAgent } from "../support/deployment/agents.js";
import { driveLocally } from "../support/deployment/local-driver.js";
import { StrictWorker } from "../support/deployment/strict-worker.js";
import { TOOLS } from "../support/deployment/tools.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";

expectWarnings(OLD_PACKAGES);

const ref = { threadId: "1", namespace: "" };
const MEETINGS: readonly (readonly [owner: AgentName, other: AgentName])[] = [
  ["langchain", "react"],
  ["deep", "langchain"],
  ["ours", "react"],
  ["react", "ours"],
  ["react", "langchain"],
];

const LONG_ID = `call_${"7".repeat(39)}|fc_${"7".repeat(35)}`;
const FAULTS: readonly (readonly [title: string, id: string, options: DiagnoseOptions, code: string])[] = [
  ["an id that Anthropic refuses", "functions.look:0", { dialect: "anthropic" }, "content/call-id"],
  ["an id of 83 characters, which OpenAI refuses", LONG_ID, { dialect: "openai" }, "content/call-id"],
  ["more tokens than the window", "c1", { maxTokens: 40 }, "size/window"],
];

describe("a thread that the request mends", () => {
  it.each(FAULTS)("with %s is found, and not written", async (_, id, options, code) => {
    const saver = new MemorySaver();
    const driver = driveLocally("langchain", saver)("1");
    for (let turn = 0; turn < 6; turn += 1)
      await driver.work([{ id: turn === 3 ? id : `t${turn}`, name: "look" }]);
    const store = createGraphStore({ graph: createDeployedAgent("langchain"), checkpointer: saver });
    const thread = await store.read(ref);
    const found = diagnoseThread(thread, options).findings.filter(({ severity }) => severity !== "info");
    expect([...new Set(found.map((finding) => finding.code))]).toEqual([code]);
    expect(planRepair(thread).kind).toBe("nothing");
    expect(diagnoseThread(thread).outcome).toBe("sound");
  });
});

describe("a thread that is read with the graph of another agent", () => {
  it.each(MEETINGS)("of %s with that of %s is not written, by a repair or an undo", async (owner, other) => {
    const saver = new MemorySaver();
    const driver = driveLocally(owner, saver)("1");
    const own = createGraphStore({ graph: createDeployedAgent(owner), checkpointer: saver });
    const wrong = createGraphStore({ graph: createDeployedAgent(other), checkpointer: saver });
    const stored = async () => JSON.stringify(await saver.getTuple({ configurable: { thread_id: "1" } }));
    const entries: ReceiptEntry[] = [];
    const receipt = { append: async (entry: ReceiptEntry) => void entries.push(entry) };
    await driver.work([
      { id: "c0", name: "count", args: { value: 3 } },
      { id: "f0", name: "write_todos", args: { todos: [{ content: "a", status: "pending" }] } },
    ]);
    await driver.cancel([{ id: "c1", name: "hold" }], 0);

    const broken = await stored();
    const seen = await wrong.read(ref);
    expect(planRepair(seen)).toMatchObject({ kind: "skip", reason: "other-graph" });
    expect(diagnoseThread(seen).findings.map(({ code }) => code)).toContain("state/other-graph");
    const plan = planRepair(await own.read(ref));
    const outcome = await applyRepair({ store: wrong, ref }, plan, { receipt });
    expect([outcome.kind, await stored()]).toEqual(["failed", broken]);

    expect(await applyRepair({ store: own, ref }, plan, { receipt })).toMatchObject({ kind: "repaired" });
    const repaired = await stored();
    const outcomes = [];
    for await (const { kind } of undo(wrong, entries.slice(2))) outcomes.push(kind);
    expect([outcomes, await stored()]).toEqual([["failed"], repaired]);
    for await (const { kind } of undo(own, entries.slice(2))) outcomes.push(kind);
    expect(outcomes).toEqual(["failed", "restored"]);
  });
});

describe("a thread whose own graph mends it with the next message", () => {
  const model = () => new StrictWorker();
  const call = (id: string, ...ids: string[]) =>
    new AIMessage({ id, content: "", tool_calls: ids.map((one) => ({ id: one, name: "look", args: {} })) });
  const result = (id: string, tool_call_id: string) =>
    new ToolMessage({ id, tool_call_id, content: `looked ${id}`, name: "look" });
  const human = (id: string) => new HumanMessage({ id, content: "Hello?" });
  const GRAPHS: Readonly<Record<string, () => unknown>> = {
    createAgentGraph: () => createAgentGraph({ model: model(), tools: TOOLS }),
    "createAgentGraph over a delta channel": () =>
      createAgentGraph({ model: model(), tools: TOOLS, messagesChannel: "delta" }),
    tetherMiddleware: () =>
      createAgent({ model: model(), tools: TOOLS, middleware: [tetherMiddleware()] } as never).graph,
  };
  const LISTS: Readonly<Record<string, readonly (AIMessage | ToolMessage | HumanMessage)[]>> = {
    "pairing/dangling-call": [human("u"), call("a", "c1")],
    "pairing/orphan-result": [result("r", "gone"), human("u")],
    "pairing/duplicate-result": [
      human("u"),
      call("a", "c1"),
      result("r", "c1"),
      human("v"),
      result("s", "c1"),
    ],
    "pairing/misplaced-result": [human("u"), call("a", "c1"), human("v"), result("r", "c1")],
  };

  it.each(Object.entries(GRAPHS))("%s: nothing is to be done", async (_, make) => {
    for (const [code, list] of Object.entries(LISTS)) {
      const saver = new MemorySaver();
      const graph = (await make()) as AnyGraph;
      graph.checkpointer = saver;
      const config = { configurable: { thread_id: "1" } };
      await graph.invoke({ messages: [{ role: "user", content: "Hello." }] }, config);
      const store = createGraphStore({ graph });
      const { checkpointId } = await store.read(ref);
      await store.write(ref, { expectedCheckpointId: checkpointId, messages: [...list, human("z")] });

      const { outcome, findings } = diagnoseThread(await store.read(ref));
      expect([outcome, findings.map((found) => [found.code, found.severity])]).toEqual([
        "sound",
        [[code, "info"]],
      ]);
      expect(planRepair(await store.read(ref)).kind).toBe("write");
      await graph.invoke({ messages: [{ role: "user", content: "Are you well?" }] }, config);
      expect(diagnoseThread(await store.read(ref)).findings).toEqual([]);
    }
  });

  it("is told from one whose graph does not", async () => {
    const thread = threadOfList(LISTS["pairing/dangling-call"] ?? []);
    expect(diagnoseThread(thread).outcome).toBe("findings");
    expect(diagnoseThread({ ...thread, mendedBy: "agent" }).outcome).toBe("sound");
    expect(diagnoseThread({ ...thread, mendedBy: "agent", otherGraph: "Another." }).outcome).toBe("findings");
  });
});

describe("a graph that knows every node and every value of a thread", () => {
  const agentWith = (...middleware: object[]) => {
    const agent = createAgent({ model: new StrictWorker(), tools: TOOLS, middleware } as never);
    return agent.graph as unknown as AnyGraph;
  };

  /** A thread of an agent without middleware, whose last run was cancelled. */
  async function makeThread() {
    const saver = new MemorySaver();
    const graph = agentWith();
    graph.checkpointer = saver;
    const config = { configurable: { thread_id: "1" } };
    await graph.invoke({ messages: [{ role: "user", content: "Hello." }] }, config);
    const call = { id: "c1", name: "look", args: {} };
    await graph.updateState(config, {
      messages: [
        new AIMessage({ id: "a", content: "", tool_calls: [call] }),
        new HumanMessage({ id: "h", content: "Are you there?" }),
      ],
    });
    return {
      saver,
      planWith: async (other: object) => planRepair(await storeOver(other).read(ref)),
      storeOver,
    };
    function storeOver(other: object) {
      return createGraphStore({ graph: other, checkpointer: saver });
    }
  }

  it("and begins elsewhere with more values is refused by name, and nothing is written", async () => {
    const { saver, planWith, storeOver } = await makeThread();
    const deep = createDeployedAgent("deep");
    const stored = async () => JSON.stringify(await saver.getTuple({ configurable: { thread_id: "1" } }));
    const before = await stored();
    expect(await planWith(deep)).toMatchObject({
      kind: "skip",
      reason: "other-graph",
      description: expect.stringMatching(/begins at FilesystemMiddleware\.before_agent.*: files, /),
    });
    const receipt = { append: async () => {} };
    const outcome = await applyRepair({ store: storeOver(deep), ref }, await planWith(agentWith()), {
      receipt,
    });
    expect([outcome.kind, await stored()]).toEqual(["failed", before]);
  });

  it.each([
    ["the middleware of this library", [tetherMiddleware()]],
    [
      "a summary before each model call",
      [summarizationMiddleware({ model: new StrictWorker(), trigger: { tokens: 9 } } as never)],
    ],
    ["a list of tasks", [todoListMiddleware()]],
  ] as const)("because it is the same agent that has got %s since: it writes", async (_, middleware) => {
    const { planWith } = await makeThread();
    expect(await planWith(agentWith(...middleware))).toMatchObject({ kind: "write" });
  });
});
