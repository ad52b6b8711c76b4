/** The event `run-end`: how each run ended, what it used, and where; under both agents. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { type BaseCheckpointSaver, Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentEvent, createAgentGraph, type EventPlace, type Repair } from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { allOf } from "../../support/async.js";
import { deferred } from "../../support/deferred.js";
import { calls, FunctionModel } from "../../support/models.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import { inThread, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const USAGE = { input_tokens: 90, output_tokens: 10, total_tokens: 100 };

type Agent = ReturnType<typeof createAgentGraph>;
type Reply = string | AIMessage | Error;
type OnRepair = (repair: Repair, place: EventPlace) => void;

const AGENTS = {
  createAgentGraph: (options: object, onRepair?: OnRepair) =>
    createAgentGraph({
      ...options,
      requireApproval: ["pay"],
      maxStreamFallbackAttempts: 1,
      onRepair,
    } as never),
  "createAgent with tetherMiddleware": (options: object, onRepair?: OnRepair) =>
    createAgent({
      ...options,
      middleware: [
        humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never),
        tetherMiddleware({ maxStreamFallbackAttempts: 1, onRepair }),
      ],
    } as never),
} as const;

type AgentName = keyof typeof AGENTS;

function open(name: AgentName, checkpointer: BaseCheckpointSaver = new MemorySaver(), onRepair?: OnRepair) {
  const script: Reply[] = [];
  const model = new FunctionModel(() => {
    const reply = script.shift() ?? "Done.";
    if (reply instanceof Error) return reply;
    const message = typeof reply === "string" ? new AIMessage(reply) : reply;
    return Object.assign(message, { usage_metadata: USAGE });
  });
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful, makeTool("pay", async () => "paid")];
  const agent = AGENTS[name]({ model, tools, checkpointer }, onRepair) as unknown as Agent;
  const run = async (replies: Reply[], input: unknown, more: object = {}) => {
    script.splice(0, script.length, ...replies);
    return agent.invoke(input as never, { ...inThread("1"), ...more });
  };
  return { agent, probe, run, script };
}

let told: AgentEvent[] = [];
const listen = (event: unknown) => void told.push(event as AgentEvent);
beforeEach(() => {
  told = [];
  subscribe("langgraph-tether:event", listen);
});
afterEach(() => void unsubscribe("langgraph-tether:event", listen));
const ends = () => told.filter((event) => event.type === "run-end");

describe.each(Object.keys(AGENTS) as AgentName[])("The end of a run of %s", (name) => {
  it("is told of one that is done, with what it used", async () => {
    const { run, agent } = open(name);
    await run([calls(["fast"])], user("Go."));
    const { checkpoint_id: checkpointId } = { ...(await agent.getState(inThread("1"))).config.configurable };
    expect(ends()).toEqual([
      {
        type: "run-end",
        outcome: "done",
        calls: 1,
        results: 1,
        usedFallback: false,
        durationMs: expect.any(Number),
        usage: expect.objectContaining({ total_tokens: 200, models: expect.any(Object) }),
        threadId: "1",
        runId: expect.any(String),
        checkpointId,
      },
    ]);
  });

  it("is told of one that waits, and of the one with the decision", async () => {
    const { run } = open(name);
    await run([calls(["pay"])], user("Go."));
    await run([], new Command({ resume: { decisions: [{ type: "approve" }] } }));
    expect(ends()).toMatchObject([
      { outcome: "waiting", calls: 1, results: 0, usage: { total_tokens: 100 } },
      { outcome: "done", calls: 0, results: 1, usage: { total_tokens: 100 } },
    ]);
    expect(new Set(ends().map(({ runId }) => runId)).size).toBe(2);
  });

  it("is told of one that is cancelled, and not again by the next", async () => {
    const { run, probe } = open(name);
    const controller = new AbortController();
    const cancelled = run([calls(["heedful"])], user("Go."), { signal: controller.signal });
    await probe.hasBegun(1);
    controller.abort();
    await expect(cancelled).rejects.toThrow();
    await run([], user("And now?"));
    expect(ends()).toMatchObject([
      { outcome: "cancelled", calls: 1, usage: { total_tokens: 100 } },
      { outcome: "done", calls: 0, usage: { total_tokens: 100 } },
    ]);
  });

  it("is told of one that fails, and not again by the next", async () => {
    const { run } = open(name);
    await expect(run([calls(["fast"]), new Error("no")], user("Go."))).rejects.toThrow("no");
    await run([], user("And now?"));
    expect(ends()).toMatchObject([
      { outcome: "failed", calls: 1, results: 1, usage: { total_tokens: 100 } },
      { outcome: "done", usage: { total_tokens: 100 } },
    ]);
  });

  it("counts a response that was broken", async () => {
    const { run } = open(name);
    await run([new AIMessage("")], user("Go."));
    expect(ends()).toMatchObject([{ outcome: "done", usedFallback: true, usage: { total_tokens: 200 } }]);
  });

  it.each(["message", "input null"])(
    "is told of one that was killed, once, by the next: %s",
    async (next) => {
      const saver = new MemorySaver();
      const { mortal, die } = mortalSaver(saver);
      const dead = open(name, mortal);
      const dying = dead.run([calls(["fast"], ["heedful"])], user("Go."), { durability: "sync" });
      dying.catch(() => {});
      await dead.probe.hasBegun(2);
      die();
      const { run } = open(name, saver);
      const { run: later } = open(name, saver);
      await run([], next === "message" ? user("And now?") : null);
      await later([], user("Bye."));
      expect(ends()).toMatchObject([
        { outcome: "killed", calls: 2, usage: { total_tokens: 100 }, threadId: "1" },
        { outcome: "done", usage: { total_tokens: 100 } },
        { outcome: "done", usage: { total_tokens: 100 } },
      ]);
      expect(new Set(ends().map(({ runId }) => runId)).size).toBe(3);
    },
  );

  it("is in the stream, and last", async () => {
    const { agent, script } = open(name);
    script.push(calls(["pay"]));
    const options = { ...inThread("1"), streamMode: ["values", "custom"] as never };
    const waiting = await allOf<[string, unknown]>(agent.stream(user("Go."), options));
    expect(waiting.filter(([mode]) => mode === "custom")).toMatchObject([
      ["custom", { type: "run-end", outcome: "waiting", threadId: "1" }],
    ]);
    const done = await allOf<[string, unknown]>(agent.stream(user("No."), options));
    expect(done.filter(([mode]) => mode === "custom").at(-1)).toMatchObject([
      "custom",
      { type: "run-end", outcome: "done" },
    ]);
  });

  it("has the id that a server gives the run", async () => {
    const { run } = open(name);
    const configurable = { thread_id: "1", run_id: "0198c8c6-0000-7000-8000-000000000001" };
    await run([], user("Go."), { configurable });
    expect(ends()).toMatchObject([{ runId: configurable.run_id }]);
  });

  it("names its place beside repairs and other events", async () => {
    const repairs: [string, EventPlace][] = [];
    const { run, agent, probe } = open(name, new MemorySaver(), ({ kind }, place) => {
      repairs.push([kind, place]);
      throw new Error("The listener is broken.");
    });
    const controller = new AbortController();
    const cancelled = run([calls(["heedful"])], user("Go."), { signal: controller.signal });
    await probe.hasBegun(1);
    controller.abort();
    await expect(cancelled).rejects.toThrow();
    await run([], user("And now?"));
    const place = { threadId: "1", runId: ends()[1]?.runId, checkpointId: expect.any(String) };
    expect(repairs).toEqual([["call-closed", place]]);
    expect(told.find(({ type }) => type === "call-closed")).toMatchObject({ tool: "heedful", ...place });
    expect((await agent.getState(inThread("1"))).next).toEqual([]);
  });
});

it("An agent in a tool has a run of its own, in the same thread", async () => {
  const inner = open("createAgentGraph", new MemorySaver()).agent;
  const ask = makeTool("ask", async (_, config) => {
    await inner.invoke(user("Hello.") as never, config as never);
    return "asked";
  });
  const model = new FunctionModel(({ index }) =>
    Object.assign(index === 0 ? calls(["ask"]) : new AIMessage("Done."), { usage_metadata: USAGE }),
  );
  const agent = createAgentGraph({ model, tools: [ask], checkpointer: new MemorySaver() });
  await agent.invoke(user("Go."), inThread("1"));
  expect(ends()).toMatchObject([
    { outcome: "done", threadId: "1", usage: { total_tokens: 100 } },
    { outcome: "done", threadId: "1", usage: { total_tokens: 200 } },
  ]);
  expect(ends()[0]?.runId).not.toBe(ends()[1]?.runId);
});

describe("A killed run is told by the next one", () => {
  const killed = async () => {
    const saver = new MemorySaver();
    const { mortal, die } = mortalSaver(saver);
    const dead = open("createAgentGraph", mortal);
    await open("createAgentGraph", saver).run(["Hello."], user("Hi."));
    const { config } = await open("createAgentGraph", saver).agent.getState(inThread("1"));
    const dying = dead.run([calls(["heedful"])], user("Go."), { durability: "sync" });
    dying.catch(() => {});
    await dead.probe.hasBegun(1);
    die();
    return { ...open("createAgentGraph", saver), before: config };
  };

  it("after an update of the state", async () => {
    const { run, agent } = await killed();
    await agent.updateState(inThread("1"), { messages: [new AIMessage("By hand.")] });
    await run([], user("And now?"));
    expect(ends().map(({ outcome }) => outcome)).toEqual(["done", "killed", "done"]);
  });

  it("that begins another branch", async () => {
    const { run, before } = await killed();
    await run([], user("Instead."), before);
    expect(ends().map(({ outcome }) => outcome)).toEqual(["done", "killed", "done"]);
    await run([], user("And now?"));
    expect(ends()).toHaveLength(4);
  });
});

it.each([
  ["createAgentGraph", "waiting"],
  ["createAgent with tetherMiddleware", "stopped"],
] as const)(
  "A run of %s that stops before a node that its caller names is told once",
  async (name, outcome) => {
    const { run } = open(name);
    await run([calls(["fast"])], user("Go."), { interruptBefore: ["tools"] });
    await run([], null);
    expect(ends()).toMatchObject([
      { outcome, usage: { total_tokens: 100 } },
      { outcome: "done", usage: { total_tokens: 100 } },
    ]);
  },
);

it("What a model had reported before the abort counts", async () => {
  const hasBegun = deferred<void>();
  class Reporting extends FunctionModel {
    override async *_streamResponseChunks(
      ...[, options]: Parameters<FunctionModel["_streamResponseChunks"]>
    ): ReturnType<FunctionModel["_streamResponseChunks"]> {
      const message = new AIMessageChunk({ content: "", usage_metadata: USAGE } as never);
      yield new ChatGenerationChunk({ message, text: "" });
      hasBegun.resolve();
      await new Promise((_, reject) => {
        options?.signal?.addEventListener("abort", () => reject(new Error("Aborted")));
      });
    }
  }
  const agent = createAgentGraph({ model: new Reporting(() => ""), checkpointer: new MemorySaver() });
  const controller = new AbortController();
  const options = { ...inThread("1"), signal: controller.signal, streamMode: "messages" as const };
  const cancelled = allOf(agent.stream(user("Go."), options));
  await hasBegun.promise;
  controller.abort();
  await expect(cancelled).rejects.toThrow();
  await expect.poll(ends).toMatchObject([{ outcome: "cancelled", usage: { total_tokens: 100 } }]);
});
