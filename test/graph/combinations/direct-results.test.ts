/** Tools with `returnDirect`, and agents inside a parent graph, together with what else an agent can have. */

import { tool } from "@langchain/core/tools";
import {
  Command,
  END,
  InMemoryStore,
  MemorySaver,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentEvent,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  PairedMessagesValue,
  toolStrategy,
} from "../../../src/index.js";
import { allOf } from "../../support/async.js";
import { calls, FunctionModel, type Step, scripted } from "../../support/models.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const City = z.object({ name: z.string() }).meta({ title: "City" });
const OSLO = { name: "Oslo" };
const RIGHT = `tool: Returning structured response: ${JSON.stringify(OSLO)}`;
const responseFormat = toolStrategy(City);

const direct = () =>
  tool(async () => "direct done", {
    name: "direct",
    description: "direct",
    schema: z.object({}),
    returnDirect: true,
  });

describe("a direct result", () => {
  it("ends a run with a format without a structured response, and says so", async () => {
    const graph = createAgentGraph({ model: scripted(calls(["direct"])), tools: [direct()], responseFormat });
    const events = await allOf<AgentEvent>(graph.stream(user("go"), { streamMode: "custom" }));
    expect(events).toContainEqual({ type: "structured-response-missing", reason: "ended" });
    expect(events.at(-1)?.type).toBe("run-end");
  });

  it("beside a structured response is followed by another request", async () => {
    const model = scripted(calls(["direct"], ["City", OSLO]), calls(["City", OSLO]));
    const graph = createAgentGraph({ model, tools: [direct()], responseFormat });
    const result = await graph.invoke(user("go"));
    expect(pairedScript(result).slice(2)).toEqual([
      "tool: direct done",
      expect.stringMatching(/^tool! .*not taken/),
      "ai> City",
      RIGHT,
    ]);
  });

  it.each([
    ["approved", { type: "approve" }, ["tool: direct done", "tool: direct done"]],
    ["rejected", { type: "reject" }, ["tool: direct done", expect.stringMatching(/^tool!/), "ai: done"]],
    ["answered by a human", { type: "respond", message: "by hand" }, ["tool: direct done", "tool: by hand"]],
  ])("of two calls waits for the one that is %s", async (_, decision, lines) => {
    const graph = createAgentGraph({
      model: new FunctionModel(({ index }) =>
        index === 0 ? calls(["direct", {}, "a"], ["direct", {}, "b"]) : "done",
      ),
      tools: [direct()],
      requireApproval: { direct: { when: ({ toolCall }) => toolCall.id === "b" } },
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("go"), inThread("1"));
    const result = await graph.invoke(new Command({ resume: { decisions: [decision] } }), inThread("1"));
    expect(pairedScript(result).slice(2)).toEqual(lines);
  });

  it("counts if a function middleware answers the call", async () => {
    const serve = functionMiddleware(async function serve(context) {
      context.result = "served";
      context.update({ note: "x" });
    });
    const stateSchema = z.object({ note: z.string().optional() });
    const graph = createAgentGraph({
      model: scripted(calls(["direct"])),
      tools: [direct()],
      middleware: [serve],
      stateSchema,
    });
    const result = await graph.invoke(user("go"));
    expect([pairedScript(result).at(-1), result.note]).toEqual(["tool: served", "x"]);
  });
});

it("An agent inside a parent graph does all of it: fallback, format, own keys, context, approval and steering.", async () => {
  const { fast } = createProbe();
  const seen: unknown[] = [];
  const model = new FunctionModel(() => Object.assign(new Error("down"), { status: 503 }));
  const second = new FunctionModel(async ({ index }) => {
    if (index === 0) return calls(["fast"], ["plan"]);
    if (index === 1) await agent.steer("p", "And Rome?");
    return calls(["City", OSLO]);
  });
  const plan = makeTool("plan", async () => new Command({ update: { plan: "a walk" } }));
  const store = new InMemoryStore();
  const agent = createAgentGraph({
    model,
    fallbackModels: [second],
    tools: [fast, plan],
    responseFormat: City,
    requireApproval: { fast: { allowedDecisions: ["approve"] } },
    stateSchema: z.object({ plan: z.string().optional(), log: z.string().optional() }),
    contextSchema: z.object({ userId: z.string() }),
    middleware: [
      chatMiddleware(async function note(context, next) {
        seen.push(context.context["userId"]);
        await next();
        context.update({ log: "noted" });
      }),
    ],
    store,
  });
  const state = new StateSchema({
    messages: PairedMessagesValue,
    plan: z.string().optional(),
    log: z.string().optional(),
    structuredResponse: z.unknown().optional(),
  });
  const parent = new StateGraph(state, { context: z.object({ userId: z.string() }) } as never)
    .addNode("agent", agent as never)
    .addEdge(START, "agent" as never)
    .addEdge("agent" as never, END)
    .compile({ checkpointer: new MemorySaver(), store });
  const config = { ...inThread("p"), context: { userId: "ada" } } as object;
  const waiting = await parent.invoke(user("go") as never, config);
  expect(waiting).toHaveProperty("__interrupt__");
  const resume = { decisions: [{ type: "approve" }] };
  const result = await parent.invoke(new Command({ resume }) as never, config);
  expect(result).toMatchObject({ plan: "a walk", log: "noted", structuredResponse: OSLO });
  expect(new Set(seen)).toEqual(new Set(["ada"]));
  expect(pairedScript(result)).toEqual([
    "human: go",
    "ai> fast plan",
    "tool: fast done -",
    "tool: (no output)",
    "ai> City",
    RIGHT,
    "human: And Rome?",
    "ai> City",
    RIGHT,
  ]);
  expect(second.refused).toEqual([]);
  // The switch lasts until the turn ends.
  expect(model.requests).toHaveLength(2);
});

// Tools whose results are meant for the user.

const schema = z.object({ fails: z.boolean().optional() });

const made = (name: string, returnDirect: boolean) =>
  tool(
    ({ fails }) => {
      if (fails) throw new Error("no");
      return `${name} done`;
    },
    { name, description: name, schema, returnDirect },
  );

const tools = [made("direct", true), made("also", true), made("plain", false)];

const run = async (...steps: readonly Step[]) => {
  const agent = createAgentGraph({ model: scripted(...steps), tools, checkpointer: new MemorySaver() });
  return pairedScript(await agent.invoke(user("hi"), inThread("1"))).slice(2);
};

describe("a tool with `returnDirect`", () => {
  it("ends the run with its result", async () => {
    expect(await run(calls(["direct"]))).toEqual(["tool: direct done"]);
  });

  it("ends the run with several results, if all calls of the batch are of such tools", async () => {
    expect(await run(calls(["direct"], ["also"]))).toEqual(["tool: direct done", "tool: also done"]);
  });

  it.each([
    ["after", [["plain"], ["direct"]]],
    ["before", [["direct"], ["plain"]]],
  ] as const)("does not end it if another tool was called %s it", async (_, batch) => {
    const lines = await run(calls(...batch), "done");
    expect(lines).toEqual([...batch.map(([name]) => `tool: ${name} done`), "ai: done"]);
  });

  it.each([
    ["alone", [["direct", { fails: true }]]],
    ["in a batch", [["direct", { fails: true }], ["also"]]],
    ["with bad arguments", [["direct", { fails: "yes" }]]],
  ] as const)("does not end it if it fails %s", async (_, batch) => {
    expect((await run(calls(...batch), "sorry")).at(-1)).toBe("ai: sorry");
  });

  it("counts only the latest batch, and the next run goes on from there", async () => {
    const agent = createAgentGraph({
      model: scripted(calls(["direct"], ["plain"]), calls(["also"]), "next"),
      tools,
      checkpointer: new MemorySaver(),
    });
    const events = await allOf(agent.stream(user("hi"), { ...inThread("1"), streamMode: "custom" }));
    expect(events).toEqual([expect.objectContaining({ type: "run-end", calls: 3, results: 3 })]);
    const lines = pairedScript(await agent.invoke(user("more"), inThread("1")));
    expect(lines.slice(-3)).toEqual(["tool: also done", "human: more", "ai: next"]);
  });
});
