/** What the doctor and the page say of a thread rests on what was read, beside what a recording model is then sent. */

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
  MemorySaver,
  MessagesAnnotation,
  messagesStateReducer,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createSupervisor } from "@langchain/langgraph-supervisor";
import { createSwarm } from "@langchain/langgraph-swarm";
import { createDeepAgent } from "deepagents";
import { createAgent } from "langchain";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGraphStore, diagnoseThread, planRepair } from "../../src/doctor.js";
import { createAgentGraph, PairedMessagesDeltaValue, postgresThreadLock } from "../../src/index.js";
import { createInspector } from "../../src/inspector.js";
import { deferred } from "../support/deferred.js";
import { messagesIn } from "../support/make-messages.js";
import { calls, FunctionModel } from "../support/models.js";
import { DATABASE_URL } from "../support/savers.js";
import { inThread, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";
import { makeFolder, run } from "./command/command-line.js";
import { repair } from "./repair.js";

const config = inThread("1");

/** A model that calls `look` and `wait` when a user says "work", and its tools. `wait` ends when it is let go. */
function createWorld() {
  const begun = deferred<void>();
  const ended = deferred<void>();
  const model = new FunctionModel(({ messages }) =>
    messages.at(-1)?.text === "work" ? calls(["look", {}, "l"], ["wait", {}, "w"]) : "done",
  );
  const tools = [
    makeTool("look", async () => "seen"),
    makeTool("wait", async () => {
      begun.resolve();
      await ended.promise;
      return "waited";
    }),
  ];
  return { model, tools, begun: begun.promise, end: () => ended.resolve() };
}

type Agent = (given: object) => ReturnType<typeof createAgentGraph>;

const AGENTS = {
  createAgent: (given: object) => createAgent(given as never).graph,
  createReactAgent: ({ model, ...given }: { readonly model: unknown }) =>
    createReactAgent({ ...given, llm: model } as never),
  createDeepAgent: (given: object) => Reflect.get(createDeepAgent(given as never), "graph") as object,
  createAgentGraph: (given: object) => createAgentGraph(given as never),
} as unknown as Readonly<Record<string, Agent>>;

const pageOf = (graph: object, quietMs?: number) => {
  const inspect = createInspector({
    threads: () => createGraphStore({ graph, quietMs }),
    isProtected: true,
  });
  return async (path: string) => (await inspect(new Request(`http://localhost/tether${path}`))).text();
};

/** The first lines of a page. */
const storyOf = (page: string) => /<section class="panel story".*?<\/section>/s.exec(page)?.[0] ?? "";

describe.each(Object.keys(AGENTS))("a thread of %s", (name) => {
  it("whose run may be going on is not judged until it has been quiet", async () => {
    const checkpointer = new MemorySaver();
    const { begun, end, ...given } = createWorld();
    const graph = AGENTS[name]?.({ ...given, checkpointer });
    if (graph === undefined) throw new Error(`Expected an agent ${name}.`);
    const running = graph.invoke(user("work"), config);
    await begun;
    const report = await diagnoseThread({ graph, config });
    const evidence = expect.stringMatching(
      /^The latest checkpoint is \d+ seconds? old and waits in `tools`: a run may be going on\. The messages were not judged\.$/,
    );
    expect(report).toMatchObject({
      status: "busy",
      outcome: "skipped",
      findings: [{ code: "state/busy", severity: "info", evidence }],
    });
    expect(await planRepair({ graph, config })).toMatchObject({ kind: "skip", reason: "busy" });
    const read = pageOf(graph);
    const page = await read("/threads/1");
    expect(page).toMatch(/waits in <code>tools<\/code>: a run may be going on\./);
    expect(page).not.toMatch(/"bad-text"|chip bad|langgraph-tether repair|class="chip good"/);
    expect(await read("")).toMatch(/may be running.*not judged/s);
    // Who knows that no run is going on gets the verdict.
    expect(await diagnoseThread({ graph, config, quietMs: 0 })).toMatchObject({ status: "idle" });
    end();
    await running;
    expect(await diagnoseThread({ graph, config })).toMatchObject({ status: "idle", outcome: "sound" });
  });
});

/** A thread whose run was cut in `wait`, after `look` had returned. Its model records what it is sent. */
async function cutThread(agent: Agent | undefined, checkpointer: BaseCheckpointSaver) {
  const { begun, end, ...given } = createWorld();
  const sent: BaseMessage[][] = [];
  const model = new FunctionModel(({ messages }) => {
    sent.push([...messages]);
    return messages.at(-1)?.text === "work" ? calls(["look", {}, "l"], ["wait", {}, "w"]) : "done";
  });
  if (agent === undefined) throw new Error("Expected an agent.");
  const graph = agent({ ...given, model, checkpointer });
  const ending = new AbortController();
  const running = graph.invoke(user("work"), { ...config, signal: ending.signal });
  running.catch(() => {});
  await begun;
  // `createReactAgent` runs all calls in one task, which is lost.
  const isSaved = async () => JSON.stringify((await graph.getState(config)).tasks).includes("seen");
  if (agent !== AGENTS["createReactAgent"]) await expect.poll(isSaved).toBe(true);
  ending.abort();
  await expect(running).rejects.toThrow();
  end();
  const next = async () => {
    await graph.invoke(user("go on"), config);
    return (
      sent
        .at(-1)
        ?.filter(({ type }) => type === "tool")
        .map(({ text }) => text) ?? []
    );
  };
  return { graph, next };
}

const SAVERS_HERE = {
  MemorySaver: () => new MemorySaver(),
  SqliteSaver: () => SqliteSaver.fromConnString(":memory:"),
};

describe.each(Object.entries(SAVERS_HERE))("over %s, a run of an agent was cut", (_, open) => {
  it.each(["createAgent", "createReactAgent"])(
    "%s sends the open calls, and the page says so",
    async (name) => {
      const { graph, next } = await cutThread(AGENTS[name], open());
      const report = await diagnoseThread({ graph, config, quietMs: 0 });
      expect(report).toMatchObject({ outcome: "findings" });
      expect(await pageOf(graph, 0)("/threads/1")).toMatch(/"bad-text">[^<]* refuse the next message/);
      expect(await next()).toEqual([]);
    },
  );

  it("deepagents patches the calls, and the page says what that loses", async () => {
    const { graph, next } = await cutThread(AGENTS["createDeepAgent"], open());
    const report = await diagnoseThread({ graph, config, quietMs: 0 });
    const about = (code: string, callId: string) =>
      report.findings.find((one) => one.code === code && one.callId === callId);
    expect(about("pairing/dangling-call", "w")).toMatchObject({ severity: "info", providerSays: null });
    expect(about("state/pending-result", "l")).toMatchObject({
      severity: "warning",
      evidence: expect.stringContaining("it is lost with the next message"),
    });
    expect(report.findings.filter(({ severity }) => severity === "error")).toEqual([]);
    const page = await pageOf(graph, 0)("/threads/1");
    expect(storyOf(page)).not.toContain("refuse");
    expect(page).toMatch(
      /gives 2 calls a result that says that the call was cancelled.*saved result of <code><bdi>look/s,
    );
    // And so it is.
    expect(await next()).toEqual([
      expect.stringContaining("look with id l was cancelled"),
      expect.stringContaining("wait with id w was cancelled"),
    ]);
  });

  it("a repair before the next message keeps what the patch of deepagents loses", async () => {
    const { graph, next } = await cutThread(AGENTS["createDeepAgent"], open());
    await repair({ graph, config, quietMs: 0 });
    expect(await next()).toEqual(["seen", expect.stringMatching(/^Tool call wait \(w\): /)]);
  });

  it("createAgentGraph recovers the result, and the page says so", async () => {
    const { graph, next } = await cutThread(AGENTS["createAgentGraph"], open());
    expect(await diagnoseThread({ graph, config, quietMs: 0 })).toMatchObject({ outcome: "sound" });
    expect(await pageOf(graph, 0)("/threads/1")).toMatch(/will be recovered.*will be closed/s);
    expect(await next()).toEqual(["seen", expect.stringContaining("wait")]);
  });
});

it("what a node before the model does is not known, so a refusal is not said for certain", async () => {
  const checkpointer = new MemorySaver();
  const sent: BaseMessage[][] = [];
  const model = new FunctionModel(({ messages }) => {
    sent.push([...messages]);
    return messages.at(-1)?.text === "work" ? calls(["look", {}, "l"]) : "done";
  });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("clean", ({ messages }) => ({
      messages: messages
        .flatMap(({ id }) => (messages.length > 3 && id ? [new RemoveMessage({ id })] : []))
        .slice(0, 2),
    }))
    .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addEdge("__start__", "clean")
    .addEdge("clean", "agent")
    .compile({ checkpointer });
  await graph.invoke({ messages: [new HumanMessage("work")] }, config);
  await graph.invoke({ messages: [new HumanMessage("are you there?")] }, config);
  const { findings } = await diagnoseThread({ graph, config });
  expect(findings).toMatchObject([
    {
      code: "pairing/dangling-call",
      severity: "warning",
      evidence: expect.stringContaining("is not known: `clean`, `agent`."),
    },
  ]);
  const page = await pageOf(graph)("/threads/1");
  expect(page).not.toMatch(/"bad-text"/);
  expect(page).toMatch(
    /"warning-text">As it is stored, the next message is refused.*<bdi>clean<\/bdi><\/code>.*<bdi>agent<\/bdi><\/code> do/s,
  );
  // Here the node takes the call out.
  await graph.invoke({ messages: [new HumanMessage("hello?")] }, config);
  expect(sent.at(-1)?.map(({ type }) => type)).toEqual(["human", "ai", "human"]);
});

describe.each(Object.entries(SAVERS_HERE))("over %s, a subgraph with a memory of its own", (_, open) => {
  it("has one verdict with its thread, on the page, in the list and of the doctor", async () => {
    const checkpointer = open();
    const { begun, end, tools } = createWorld();
    const sent: BaseMessage[][] = [];
    const model = new FunctionModel(({ messages }) => {
      sent.push([...messages]);
      return messages.at(-1)?.text === "work" ? calls(["look", {}, "l"], ["wait", {}, "w"]) : "done";
    });
    const inner = createAgent({ model, tools, checkpointer: true } as never).graph;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("researcher", inner as never)
      .addEdge("__start__", "researcher")
      .compile({ checkpointer });
    const ending = new AbortController();
    const running = graph.invoke(user("work") as never, { ...config, signal: ending.signal });
    running.catch(() => {});
    await begun;
    ending.abort();
    await expect(running).rejects.toThrow();
    end();
    const store = createGraphStore({ graph, quietMs: 0 });
    const namespaces: string[] = [];
    for await (const { namespace } of store.threads({})) namespaces.push(namespace);
    expect(namespaces.toSorted()).toEqual(["", "researcher"]);
    const read = pageOf(graph, 0);
    const page = await read("/threads/1");
    expect(storyOf(page)).toMatch(/In the subgraph .*researcher.*The call of <code>(look|wait)<\/code>/);
    expect(JSON.parse(await read("/threads/1.json"))).toMatchObject({ outcome: "findings" });
    expect(await read("")).not.toContain("chip good");
    const own = await read("/threads/1?ns=researcher");
    expect(own).toMatch(/"bad-text">[^<]*refuse the next message/);
    expect(own).not.toContain("langgraph-tether repair</code>");
    await expect(read("/threads/1?ns=unknown")).resolves.toContain("Not found");
    // It sends its calls without results.
    await graph.invoke(user("go on") as never, config);
    expect(sent.at(-1)?.filter(({ type }) => type === "tool")).toEqual([]);
    expect(sent.at(-1)?.length).toBeGreaterThan(2);
  });
});

it("the command line counts a thread whose subgraph has findings as one with findings", async () => {
  const folder = makeFolder();
  const checkpointer = SqliteSaver.fromConnString(join(folder, "threads.db"));
  const call = new AIMessage({ content: "", tool_calls: [{ id: "s", name: "look", args: {} }] });
  const inner = new StateGraph(MessagesAnnotation)
    .addNode("talk", () => ({ messages: [call, new HumanMessage("and?")] }))
    .addEdge("__start__", "talk")
    .compile({ checkpointer: true });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("inner", async (_, given) => {
      await inner.invoke({ messages: [new HumanMessage("hi")] }, given);
      return {};
    })
    .addEdge("__start__", "inner")
    .compile({ checkpointer });
  await graph.invoke(user("hello") as never, config);
  const { code, output } = await run(["doctor", "--sqlite", "threads.db"], { folder });
  expect(code).toBe(1);
  expect(output).toMatch(/! 1 · inner/);
  expect(output).toContain("1 of 1 thread has findings");
  expect(output).not.toContain("sound");
});

describe("the first lines of a page", () => {
  /** A thread of `createAgent` with these messages, as other programs have written them. */
  async function storedThread(messages: readonly BaseMessage[]) {
    const model = new FunctionModel(() => "done");
    const { graph } = createAgent({ model, tools: [], checkpointer: new MemorySaver() } as never);
    await graph.invoke(user("hello") as never, config);
    for (const [index, message] of messages.entries()) message.id = `m${index}`;
    await graph.updateState(config, { messages } as never);
    return { graph, story: storyOf(await pageOf(graph)("/threads/1")) };
  }

  it("count all that a repair does, and say what its command lacks", async () => {
    const { graph, story } = await storedThread(messagesIn("r:x a(c1) u a(c2) v r:c1 w r:y"));
    const plan = await planRepair({ graph, config });
    const kinds = plan.kind === "write" ? plan.steps.map(({ kind }) => kind).toSorted() : [];
    expect(kinds).toEqual(["close", "move", "take-out", "take-out"]);
    expect(story).toContain("A repair takes out 2 messages, moves 1 result and closes 1 call.");
    expect(story).toContain("needs <code>--url</code>, <code>--postgres</code> or <code>--sqlite</code>");
  });

  it("quote the provider about the fault that they name", async () => {
    const { story } = await storedThread(messagesIn("r:x u a(c2) v"));
    expect(story).toMatch(/<code><bdi>tool_c2<\/bdi><\/code> has no result.*following tool_call_ids[^<]*c2/s);
  });

  it("say that a thread cannot be read, and not that a provider refuses it or that it is empty", async () => {
    const { graph } = await storedThread([]);
    const removal = new RemoveMessage({ id: "no-such-message" });
    const failing = new StateGraph(MessagesAnnotation)
      .addNode("remove", () => ({ messages: [removal] }))
      .addNode("fail", async () => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error("The node fails.");
      })
      .addEdge("__start__", "remove")
      .addEdge("__start__", "fail")
      .compile({ checkpointer: graph.checkpointer as BaseCheckpointSaver });
    await expect(failing.invoke(user("go") as never, inThread("2"))).rejects.toThrow();
    const story = storyOf(await pageOf(failing)("/threads/2"));
    expect(story).toMatch(
      /The thread could not be read\..*Every read of the thread throws.*A repair writes the thread again/s,
    );
    expect(story).not.toMatch(/refuse|is empty|The next request has/);
    const broken = new StateGraph(MessagesAnnotation).addNode("a", () => ({})).addEdge("__start__", "a");
    class Unreadable extends MemorySaver {
      override async getTuple(): Promise<never> {
        throw new Error("the bytes are damaged");
      }
    }
    const saver = new MemorySaver();
    await broken.compile({ checkpointer: saver }).invoke(user("x") as never, config);
    const damaged = Object.assign(new Unreadable(), { storage: saver.storage, writes: saver.writes });
    const page = await pageOf(broken.compile({ checkpointer: damaged }))("/threads/1");
    expect(storyOf(page)).toMatch(/The thread could not be read\..*the bytes are damaged/s);
    expect(storyOf(page)).not.toMatch(/refuse|is empty/);
  });

  it("say where a run stopped that has stored no end", async () => {
    const { begun, end, ...given } = createWorld();
    const graph = createAgent({ ...given, checkpointer: new MemorySaver() } as never).graph;
    const running = graph.invoke(user("work") as never, config);
    await begun;
    // As if the process had been killed here.
    expect(storyOf(await pageOf(graph, 0)("/threads/1"))).toMatch(
      /The last run stopped before the end of <code><bdi>tools<\/bdi><\/code>.*killed, cancelled or drained/s,
    );
    end();
    await running;
    expect(storyOf(await pageOf(graph, 0)("/threads/1"))).not.toContain("stopped");
  });

  const TEAMS = {
    swarm: (agents: object[]) => createSwarm({ agents, defaultActiveAgent: "alice" } as never),
    supervisor: (agents: object[]) => {
      const llm = new FunctionModel(({ messages }) =>
        messages.some(({ type }) => type === "tool") ? "done" : calls(["transfer_to_alice", {}, "t"]),
      );
      return createSupervisor({ agents, llm } as never);
    },
  };

  it.each(Object.keys(TEAMS).flatMap((team) => ["killed", "cancelled"].map((how) => [team, how] as const)))(
    "say where the run of a %s stopped that was %s, and the list too",
    async (team, how) => {
      const { begun, end, tools } = createWorld();
      const llm = new FunctionModel(({ messages }) =>
        messages.at(-1)?.type === "tool" && messages.at(-1)?.text === "waited"
          ? "done"
          : calls(["wait", {}, "w"]),
      );
      const alice = createReactAgent({ llm, tools, name: "alice" } as never);
      const checkpointer = new MemorySaver();
      const graph = TEAMS[team as keyof typeof TEAMS]([alice]).compile({ checkpointer });
      const ending = new AbortController();
      const running = graph.invoke(user("work") as never, { ...config, signal: ending.signal });
      running.catch(() => {});
      await begun;
      if (how === "cancelled") {
        ending.abort();
        await expect(running).rejects.toThrow();
      }
      const read = pageOf(graph, 0);
      expect(storyOf(await read("/threads/1"))).toMatch(/The last run stopped before the end of .*alice/);
      expect(await read("")).toContain("stopped early");
      // As long as the checkpoint is young, a run may be going on.
      expect(await diagnoseThread({ graph, config })).toMatchObject({ outcome: "skipped" });
      end();
      await running.catch(() => {});
    },
  );

  it("name other rules of the provider, and a request that is too long", async () => {
    const call = new AIMessage({
      content: "",
      tool_calls: [{ id: "c1", name: "get weather!", args: {} }],
      response_metadata: { model_provider: "openai" },
    });
    const result = new ToolMessage({ tool_call_id: "c1", name: "get weather!", content: "18" });
    const { graph, story } = await storedThread([call, result, new AIMessage("18.")]);
    const { findings } = await diagnoseThread({ graph, config });
    const [first] = findings.filter(({ code }) => code.startsWith("content/"));
    expect(first?.severity).toBe("warning");
    expect(story).toMatch(/breaks? another rule of <code>openai<\/code>/);
    expect(story).toContain(String(first?.code));
  });
});

it.skipIf(DATABASE_URL === undefined)(
  "a held lock of PostgreSQL says that a run is going on, however old it is",
  async () => {
    const checkpointer = PostgresSaver.fromConnString(DATABASE_URL ?? "", {
      schema: `verdict_${process.pid}`,
    });
    const pool = new pg.Pool({ connectionString: DATABASE_URL });
    onTestFinished(async () => {
      await checkpointer.end();
      await pool.end();
    });
    await checkpointer.setup();
    const { begun, end, ...given } = createWorld();
    const graph = createAgent({ ...given, checkpointer } as never).graph;
    const running = graph.invoke(user("work") as never, config);
    await begun;
    const place = { graph, config, quietMs: 0 };
    // The checkpoint is saved while the tool runs.
    await expect.poll(async () => (await diagnoseThread(place)).outcome).toBe("findings");
    const release = await postgresThreadLock(pool).acquire("1", new AbortController().signal);
    expect(await diagnoseThread(place)).toMatchObject({
      outcome: "skipped",
      findings: [{ evidence: expect.stringContaining("A process holds the lock of the thread") }],
    });
    expect(await planRepair(place)).toMatchObject({ kind: "skip", reason: "busy" });
    await release();
    expect(await diagnoseThread(place)).toMatchObject({ outcome: "findings" });
    end();
    await running;
  },
);

/** A user's own graph, with its messages in this channel. Its model node sends them as they are. */
function ownGraph(channel: string, checkpointer: BaseCheckpointSaver) {
  const list = () => Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] });
  const State = Annotation.Root({
    [channel]: list(),
    todos: Annotation<object[]>({ reducer: (_, next) => next, default: () => [] }),
  });
  const sent: BaseMessage[][] = [];
  const model = new FunctionModel(({ messages }) => {
    sent.push([...messages]);
    return messages.at(-1)?.text === "work" ? calls(["look", {}, "l"]) : "done";
  });
  const graph = new StateGraph(State)
    .addNode("talk", async (state) => ({
      [channel]: [await model.invoke(Reflect.get(state, channel) as BaseMessage[])],
      todos: [{ content: "buy milk", status: "pending" }],
    }))
    .addEdge("__start__", "talk")
    .compile({ checkpointer });
  const say = (text: string) => graph.invoke({ [channel]: [new HumanMessage(text)] } as never, config);
  return { graph, say, sent };
}

describe.each(["messages", "chat"])("a thread whose messages are in %s", (channel) => {
  it("is found by its values, and the verdict is what the next request has", async () => {
    const { graph, say, sent } = ownGraph(channel, new MemorySaver());
    await say("hello");
    const sound = await diagnoseThread({ graph, config });
    expect(sound).toMatchObject({ outcome: "sound", messages: 2 });
    const read = pageOf(graph);
    expect(await read("/threads/1")).not.toContain("The thread is empty");
    expect(await read("/threads/1")).toMatch(/The rest of the state.*todos.*buy milk/s);
    await say("work");
    await say("are you there?");
    const broken = await diagnoseThread({ graph, config });
    const evidence = expect.stringContaining("before a model is asked is not known: `talk`.");
    const wanted = { code: "pairing/dangling-call", severity: "warning", index: 3, callId: "l", evidence };
    expect(broken).toMatchObject({ outcome: "findings", messages: 6 });
    expect(broken.findings).toContainEqual(expect.objectContaining(wanted));
    // The next request has the call without a result, so the verdict is right.
    await say("hello?");
    expect(sent.at(-1)?.map(({ type }) => type)).toEqual([
      ...["human", "ai", "human", "ai", "human", "ai", "human"],
    ]);
    expect(sent.at(-1)?.[3]).toMatchObject({ tool_calls: [{ id: "l" }] });
    const page = await read("/threads/1");
    expect(page).toContain("As it is stored, the next message is refused");
    const plan = await planRepair({ graph, config });
    expect(plan).toMatchObject(
      channel === "messages" ? { kind: "write" } : { kind: "skip", reason: "other-channel" },
    );
    expect(page.includes("A repair closes")).toBe(channel === "messages");
    expect(broken.findings.some(({ code }) => code === "state/other-channel")).toBe(channel !== "messages");
  });
});

it("messages in a delta channel with another name are found without the graph", async () => {
  const folder = makeFolder();
  const checkpointer: BaseCheckpointSaver = SqliteSaver.fromConnString(join(folder, "threads.db"));
  const call = new AIMessage({ content: "", tool_calls: [{ id: "l", name: "look", args: {} }] });
  const graph = new StateGraph(new StateSchema({ chat: PairedMessagesDeltaValue as never }))
    .addNode("talk", () => ({ chat: [call] }) as never)
    .addEdge("__start__", "talk")
    .compile({ checkpointer });
  await graph.invoke({ chat: [new HumanMessage("work")] } as never, config);
  await graph.invoke({ chat: [new HumanMessage("are you there?")] } as never, config);
  const wanted = { code: "pairing/dangling-call", index: 1, callId: "l" };
  const withGraph = await diagnoseThread({ graph, config });
  expect(withGraph.findings).toContainEqual(expect.objectContaining(wanted));
  const { code, output } = await run(["doctor", "--sqlite", "threads.db", "--format", "json"], { folder });
  expect(code).toBe(1);
  expect(JSON.parse(output).threads).toMatchObject([{ messages: withGraph.messages }]);
  expect(JSON.parse(output).threads[0].findings).toContainEqual(expect.objectContaining(wanted));
});

it("a state without a list of messages is not sound, and not empty", async () => {
  const State = Annotation.Root({ topic: Annotation<string>, notes: Annotation<string[]> });
  const graph = new StateGraph(State)
    .addNode("write", () => ({ notes: ["a note"] }))
    .addEdge("__start__", "write")
    .compile({ checkpointer: new MemorySaver() });
  await graph.invoke({ topic: "fish" }, config);
  expect(await diagnoseThread({ graph, config })).toMatchObject({
    outcome: "skipped",
    findings: [
      { code: "state/no-messages", evidence: expect.stringContaining("the channels `topic`, `notes`.") },
    ],
  });
  const read = pageOf(graph);
  const page = await read("/threads/1");
  expect(page).toContain("No list of messages was found in the state");
  expect(page).not.toContain("The thread is empty");
  expect(await read("")).toContain("not judged");
});

it("a second list of messages is checked too, and is no error, because nobody knows who gets it", async () => {
  const list = () => Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] });
  const graph = new StateGraph(Annotation.Root({ messages: list(), scratch: list() }))
    .addNode("talk", () => ({ messages: [new AIMessage("hi")] }))
    .addEdge("__start__", "talk")
    .compile({ checkpointer: new MemorySaver() });
  const call = new AIMessage({ content: "", tool_calls: [{ id: "s", name: "look", args: {} }] });
  await graph.invoke({ messages: [new HumanMessage("a")], scratch: [call, new HumanMessage("b")] }, config);
  expect(await diagnoseThread({ graph, config })).toMatchObject({
    outcome: "findings",
    findings: [
      {
        code: "state/other-channel",
        evidence: expect.stringContaining("`messages` (2) and `scratch` (2)"),
      },
      {
        code: "pairing/dangling-call",
        severity: "warning",
        evidence: expect.stringMatching(/^In the channel `scratch`: /),
      },
    ],
  });
});

it("the command line does not judge or repair a run that may be going on, and does not end with 0", async () => {
  const folder = makeFolder();
  const checkpointer: BaseCheckpointSaver = SqliteSaver.fromConnString(join(folder, "threads.db"));
  const { begun, end, ...given } = createWorld();
  const graph = createAgent({ ...given, checkpointer } as never);
  const running = graph.invoke(user("work") as never, config);
  await begun;
  const over = (...args: string[]) => run([...args, "--sqlite", "threads.db"], { folder });
  const doctor = await over("doctor");
  expect(doctor).toMatchObject({ code: 3, output: expect.stringMatching(/a run may\s+be going on/) });
  expect(doctor.output).not.toContain("✗");
  expect(doctor.output).not.toContain("sound");
  expect((await over("doctor", "--fail-on", "error")).code).toBe(0);
  expect((await over("doctor", "--fail-on", "warning")).code).toBe(3);
  const json = JSON.parse((await over("doctor", "--format", "json")).output);
  expect(json).toMatchObject({ outcome: "partly-judged", counts: { sound: 0, skipped: 1, errors: 0 } });
  expect((await over("doctor", "--quiet-for", "0s")).code).toBe(1);
  end();
  await running;
  expect(await over("doctor")).toMatchObject({
    code: 0,
    output: expect.stringContaining("1 thread is sound"),
  });
});
