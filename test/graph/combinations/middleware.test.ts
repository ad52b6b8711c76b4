/** Own keys, contexts, budgets and tools of middleware, together with steering, fallback models and approvals. */

import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { Command, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentEvent, chatMiddleware, createAgentGraph } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { afterNext, beforeNext, insteadOfNext, set } from "../../support/middleware.js";
import { calls, FunctionModel } from "../../support/models.js";
import { type Step, scripted } from "../../support/scripted-model.js";
import { acting, steeredThread, THREAD } from "../../support/steering.js";
import { inThread, user } from "../../support/thread.js";
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

  it.each<[what: string, changes: Record<string, unknown> | undefined]>([
    ["nothing", undefined],
    ["a key", { note: "x" }],
    ["a system message", { messages: [new SystemMessage("note")] }],
    ["a user message", { messages: [new HumanMessage("note")] }],
  ])(
    "does not carry the limits of a turn into the turn of a steered message (%s)",
    async (_what, changes) => {
      const model = new FunctionModel(async ({ index, toolChoice }) => {
        if (index === 1) await thread.graph.steer(THREAD, "And again.");
        return index % 2 === 0 && toolChoice !== "none" ? calls(["fast"]) : "done";
      });
      const thread = steeredThread({
        model,
        tools: [acting("fast")],
        maxIterations: 1,
        middleware: [afterNext("chat", ({ update }) => changes && update(changes))],
        stateSchema: z.object({ note: z.string().optional() }),
      } as never);
      await thread.say("go");
      const choices = model.requests.map(({ toolChoice }) => toolChoice);
      expect(choices).toEqual([undefined, "none", undefined, "none"]);
      expect((await thread.script()).filter((line) => line.startsWith("tool"))).toHaveLength(2);
    },
  );

  it.each(["chat", "function"] as const)("is validated by the schema of the user (%s)", async (kind) => {
    const stateSchema = z.object({ count: z.coerce.number().default(0) });
    const run = (changes: Record<string, unknown>, ...more: Step[]) => {
      const write = afterNext(kind, ({ update }) => update(changes));
      const steps = [calls(["fast"]), ...more];
      return agentThread(steps, { stateSchema, middleware: [write] } as object).invoke();
    };
    expect(await run({ count: "7" }, "done")).toMatchObject({ count: 7 });
    await expect(run({ count: "x" })).rejects.toThrow(/`count`/);
    await expect(run({ cuont: 1 })).rejects.toThrow(/`cuont`/);
  });

  const writing = (name: string) =>
    chatMiddleware(async ({ update }, next) => {
      update({ log: [`${name} in`] });
      await next();
      update({ log: [`${name} out`] });
    });

  it("is combined by the reducer of its key", async () => {
    const options = { stateSchema, middleware: [writing("a"), writing("b")] } as object;
    const { log } = await agentThread(["done"], options).invoke();
    expect(log).toEqual(["a in", "b in", "b out", "a out"]);
  });

  it("is in the stream, and private channels are not, if its key has a reducer", async () => {
    const model = new FunctionModel(() => "done");
    const graph = createAgentGraph({ model, stateSchema, middleware: [writing("a")] });
    const chunks = await allOf(graph.stream(user("go"), { streamMode: ["updates", "values"] }));
    const text = JSON.stringify(chunks);
    expect(text).toContain('"a out"');
    expect(text).not.toMatch(/startedBy|threadUsage/);
  });

  it("is written once when a fallback model responds, and when a text is refused", async () => {
    let rounds = 0;
    const write = afterNext("chat", ({ update }) => {
      rounds += 1;
      update({ log: [`${rounds}`] });
    });
    const fallbackModels = [scripted("A text.", calls(["City", { name: "Oslo" }]))];
    const options = { fallbackModels, stateSchema, responseFormat: City, middleware: [write] } as object;
    const result = await agentThread([down()], options).invoke();
    expect(result).toMatchObject({ structuredResponse: { name: "Oslo" }, log: ["1", "2"] });
  });
});

describe("the state and the context of middleware", () => {
  it("have the own keys in each kind, with their defaults", async () => {
    const seen: Record<string, unknown> = {};
    let after: unknown;
    const countIn = ({ state }: { state: object }) => Reflect.get(state, "count");
    const note = (kind: "agent" | "chat" | "function") =>
      beforeNext(kind, (context) => {
        seen[kind] ??= { count: countIn(context), ...context.context };
      });
    const middleware = [
      note("agent"),
      afterNext("agent", (context) => {
        after = countIn(context);
      }),
      note("chat"),
      afterNext("chat", ({ update }) => update({ count: 8 })),
      note("function"),
    ];
    const { invoke } = agentThread([calls(["fast"]), "done"], {
      stateSchema: z.object({ count: z.number().default(7) }),
      contextSchema: z.object({ userId: z.string(), plan: z.string().default("free") }),
      middleware,
    } as object);
    await invoke("go", { context: { userId: "ada" } });
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

it("A tool that a middleware serves may wait for approval, and its arguments may be edited", async () => {
  const clock = makeTool("clock", async () => "never", z.object({ zone: z.string().optional() }));
  const offer = beforeNext("chat", (context) => set({ tools: [...context.tools, clock] })(context));
  const serve = insteadOfNext("function", (context) =>
    set({ result: `noon in ${context.arguments["zone"]}` })(context),
  );
  const { invoke, run } = agentThread([calls(["clock", { zone: "Rome" }]), "done"], {
    middleware: [offer, serve],
    requireApproval: ({ name }) => name === "clock",
  });
  await invoke();
  const decisions = [{ type: "edit", edited_action: { name: "clock", args: { zone: "Oslo" } } }];
  const lines = await run(new Command({ resume: { decisions } }));
  expect(lines.slice(2)).toEqual(["tool: noon in Oslo", "ai: done"]);
});
