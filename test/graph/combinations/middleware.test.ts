/** Own keys, contexts, budgets and tools of middleware, together with steering, fallback models and approvals. */

import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { Command, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentEvent,
  agentMiddleware,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
} from "../../../src/index.js";
import { allOf } from "../../support/async.js";
import { calls, FunctionModel, scripted } from "../../support/models.js";
import { acting, steeredThread, THREAD } from "../../support/steering.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const down = () => Object.assign(new Error("down"), { status: 503 });
const City = z.object({ name: z.string() }).meta({ title: "City" });

describe("what chat middleware writes", () => {
  const lines = z.array(z.string());
  const log = new ReducedValue(
    lines.default(() => []),
    { inputSchema: lines, reducer: (all, more) => [...all, ...more] },
  );
  const stateSchema = new StateSchema({ log });

  it.each(["nothing", "a key", "a system message", "a user message"])(
    "does not carry the limits of a turn into the turn of a steered message (%s)",
    async (what) => {
      const note = chatMiddleware(async function note(context, next) {
        await next();
        if (what === "a key") context.update({ note: "x" });
        if (what === "a system message") context.update({ messages: [new SystemMessage("note")] });
        if (what === "a user message") context.update({ messages: [new HumanMessage("note")] });
      });
      const fast = acting("fast");
      const model = new FunctionModel(async ({ index, toolChoice }) => {
        if (index === 1) await thread.graph.steer(THREAD, "And again.");
        return index % 2 === 0 && toolChoice !== "none" ? calls(["fast"]) : "done";
      });
      const thread = steeredThread({
        model,
        tools: [fast],
        maxIterations: 1,
        middleware: [note],
        stateSchema: z.object({ note: z.string().optional() }),
      } as never);
      await thread.say("go");
      expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
        undefined,
        "none",
        undefined,
        "none",
      ]);
      expect((await thread.script()).filter((line) => line.startsWith("tool"))).toHaveLength(2);
    },
  );
  it("is validated by the schema of the user, and an unknown key is named", async () => {
    const stateSchema = z.object({ count: z.coerce.number().default(0) });
    const run = (changes: Record<string, unknown>, kind: "chat" | "function") => {
      const { fast } = createProbe();
      const graph = createAgentGraph({
        model: new FunctionModel(({ index }) => (index === 0 ? calls(["fast"]) : "done")),
        tools: [fast],
        stateSchema,
        middleware: [
          kind === "chat"
            ? chatMiddleware(async function write(context, next) {
                await next();
                context.update(changes);
              })
            : functionMiddleware(async function write(context, next) {
                await next();
                context.update(changes);
              }),
        ],
      });
      return graph.invoke(user("go"));
    };
    for (const kind of ["chat", "function"] as const) {
      expect(await run({ count: "7" }, kind)).toMatchObject({ count: 7 });
      await expect(run({ count: "x" }, kind)).rejects.toThrow(/`count`/);
      await expect(run({ cuont: 1 }, kind)).rejects.toThrow(/`cuont`/);
    }
  });
  it("is combined by the reducer of its key", async () => {
    const write = (name: string) =>
      chatMiddleware(async (context, next) => {
        context.update({ log: [`${name} in`] });
        await next();
        context.update({ log: [`${name} out`] });
      });
    const graph = createAgentGraph({
      model: scripted("done"),
      stateSchema,
      middleware: [write("a"), write("b")],
    });
    expect((await graph.invoke(user("go"))).log).toEqual(["a in", "b in", "b out", "a out"]);
  });
  it("is in the stream, and private channels are not, if its key has a reducer", async () => {
    const write = chatMiddleware(async function write(context, next) {
      context.update({ log: ["in"] });
      await next();
      context.update({ log: ["out"] });
    });
    const graph = createAgentGraph({
      model: new FunctionModel(() => "done"),
      stateSchema,
      middleware: [write],
    });
    const streamMode = ["updates", "tasks", "debug", "checkpoints"] as const;
    const chunks = await allOf(graph.stream(user("go"), { streamMode: [...streamMode] }));
    for await (const event of graph.streamEvents(user("go"), { version: "v2" }))
      chunks.push(JSON.parse(JSON.stringify([event.name, event.data])));
    const text = JSON.stringify(chunks);
    expect(text).toContain('"out"');
    expect(text).not.toMatch(/startedBy|threadUsage/);
  });
  it("is written once when a fallback model responds, and when a text is refused", async () => {
    let rounds = 0;
    const write = chatMiddleware(async function write(context, next) {
      await next();
      rounds += 1;
      context.update({ log: [`${rounds}`] });
    });
    const graph = createAgentGraph({
      model: scripted(down()),
      fallbackModels: [scripted("A text.", calls(["City", { name: "Oslo" }]))],
      stateSchema,
      responseFormat: City,
      middleware: [write],
    });
    const result = await graph.invoke(user("go"));
    expect(result.structuredResponse).toEqual({ name: "Oslo" });
    expect(result.log).toEqual(["1", "2"]);
  });
});

describe("the state and the context of middleware", () => {
  it("have the own keys in each kind, with their defaults", async () => {
    const seen: Record<string, unknown> = {};
    let after: unknown;
    const { fast } = createProbe();
    const note =
      (kind: string) => async (context: { state: object; context: object }, next: () => Promise<void>) => {
        seen[kind] ??= { count: Reflect.get(context.state, "count"), ...context.context };
        await next();
        if (kind === "agent") after = Reflect.get(context.state, "count");
      };
    const write = chatMiddleware(async function write(context, next) {
      await next();
      context.update({ count: 8 });
    });
    const graph = createAgentGraph({
      model: scripted(calls(["fast"]), "done"),
      tools: [fast],
      stateSchema: z.object({ count: z.number().default(7) }),
      contextSchema: z.object({ userId: z.string(), plan: z.string().default("free") }),
      middleware: [
        agentMiddleware(note("agent")),
        chatMiddleware(note("chat")),
        write,
        functionMiddleware(note("function")),
      ],
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("go"), { ...inThread("1"), context: { userId: "ada" } });
    expect(after).toBe(8);
    const own = { userId: "ada", plan: "free" };
    expect(seen).toEqual({
      agent: { count: 7, ...own },
      chat: { count: 7, ...own },
      function: { count: 8, ...own },
    });
  });
});

describe("usage", () => {
  const paid = (message: AIMessage | string, total: number) =>
    Object.assign(typeof message === "string" ? new AIMessage(message) : message, {
      usage_metadata: { input_tokens: total - 1, output_tokens: 1, total_tokens: total },
    });
  class Named extends FunctionModel {
    readonly model: string;
    constructor(name: string, ...given: ConstructorParameters<typeof FunctionModel>) {
      super(...given);
      this.model = name;
    }
  }
  it("is counted once for each response, by model, with retry, fallback and a format", async () => {
    const first = new Named("one", ({ index }) => (index === 0 ? paid(calls(["fast"]), 10) : down()));
    const second = new Named("two", ({ index }) =>
      index === 0 ? paid("A text.", 100) : paid(calls(["City", { name: "Oslo" }]), 1000),
    );
    const { fast } = createProbe();
    const retry = chatMiddleware(
      async function twice(context, next) {
        await next();
        if (context.attempt === 1 && context.messages.length === 1) await next().catch(() => {});
      },
      { retry: true },
    );
    const saver = new MemorySaver();
    const graph = createAgentGraph({
      model: first,
      fallbackModels: [second],
      tools: [fast],
      responseFormat: City,
      middleware: [retry],
      checkpointer: saver,
    });
    const events = await allOf<AgentEvent>(
      graph.stream(user("go"), { ...inThread("1"), streamMode: "custom" }),
    );
    const end = events.find((event) => event.type === "run-end");
    const by = (model: FunctionModel) => model.requests.length;
    expect([by(first), by(second)]).toEqual([2, 2]);
    expect(end).toMatchObject({
      usage: { total_tokens: 1110, models: { one: { total_tokens: 10 }, two: { total_tokens: 1100 } } },
    });
    const saved = (await saver.getTuple(inThread("1")))?.checkpoint.channel_values["threadUsage"];
    expect(saved).toMatchObject({ tokens: 1110 });
  });
});

describe("a tool that a middleware serves", () => {
  const clock = makeTool("clock", async () => "never", z.object({ zone: z.string().optional() }));
  const offer = chatMiddleware(async function offer(context, next) {
    context.tools = [...context.tools, clock];
    await next();
  });
  const serve = functionMiddleware(async function serve(context, next) {
    if (context.call.name === "clock") context.result = `noon in ${context.arguments["zone"]}`;
    else await next();
  });
  it("may wait for approval, and its arguments may be edited", async () => {
    const graph = createAgentGraph({
      model: scripted(calls(["clock", { zone: "Rome" }]), "done"),
      middleware: [offer, serve],
      requireApproval: ({ name }) => name === "clock",
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("go"), inThread("1"));
    const decisions = [{ type: "edit", edited_action: { name: "clock", args: { zone: "Oslo" } } }];
    const result = await graph.invoke(new Command({ resume: { decisions } }), inThread("1"));
    expect(pairedScript(result).slice(2)).toEqual(["tool: noon in Oslo", "ai: done"]);
  });
});
