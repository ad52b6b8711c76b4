/** What a function middleware does to one call, and its siblings. */

import { setTimeout as delay } from "node:timers/promises";
import { AIMessageChunk } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createAgentGraph,
  type FunctionContext,
  functionMiddleware,
  MiddlewareTermination,
} from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };
const label = z.object({ label: z.string() });

type Behaviour = "terminate" | "throw" | "slow" | "ask" | "pass";

/** An agent whose middleware does with a call what its label says. */
function agent(...steps: Step[]) {
  const runs: string[] = [];
  const work = tool(
    async ({ label }) => {
      runs.push(label);
      if (label === "slow") await delay(100);
      return label === "ask" ? `answered ${interrupt("may I?")}` : `done ${label}`;
    },
    { name: "work", description: "Works.", schema: label },
  );
  const acting = functionMiddleware(async function act(context, next) {
    if (context.arguments["label"] === "throw") throw new Error("thrown");
    if (context.arguments["label"] === "terminate") throw new MiddlewareTermination("terminated");
    await next();
  });
  const model = scripted(...steps);
  const checkpointer = new MemorySaver();
  return { runs, graph: createAgentGraph({ model, tools: [work], middleware: [acting], checkpointer }) };
}

const batch = (...labels: Behaviour[]) => calls(...labels.map((label) => ["work", { label }] as const));

const RESULTS: Readonly<Record<Exclude<Behaviour, "ask">, string>> = {
  terminate: "tool: terminated",
  throw: "tool! Error: `work` failed.",
  slow: "tool: done slow",
  pass: "tool: done pass",
};

describe("of three parallel calls", () => {
  it.each([
    [["terminate", "throw", "slow"]],
    [["slow", "terminate", "throw"]],
    [["throw", "slow", "terminate"]],
  ] as const)("%j each call has its result, in call order, and the thread continues", async (labels) => {
    const { graph, runs } = agent(batch(...labels), batch("pass"), "done");
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(/^thrown$/);
    const wanted = labels.map((label) => RESULTS[label]);
    expect(pairedScript((await graph.getState(config)).values).slice(2)).toEqual(wanted);
    expect(runs).toEqual(["slow"]);
    const lines = pairedScript(await graph.invoke(user("again"), config));
    expect(lines.slice(5)).toEqual(["human: again", "ai> work", "tool: done pass", "ai: done"]);
  });

  it("a termination lets the siblings finish, and the model is not asked again", async () => {
    const { graph } = agent(batch("slow", "terminate", "pass"));
    const lines = pairedScript(await graph.invoke(user("go"), config));
    expect(lines.slice(2)).toEqual([RESULTS.slow, RESULTS.terminate, RESULTS.pass]);
  });

  it("the first throw reaches the caller", async () => {
    const { graph } = agent(batch("throw", "pass", "throw"));
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(/^thrown$/);
  });
});

describe("a sibling of a call that waits for a human", () => {
  it("throws: the caller gets the error, the wait continues, and nothing is run twice", async () => {
    const { graph, runs } = agent(batch("ask", "throw", "pass"), "done");
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(/^thrown$/);
    const { values, tasks } = await graph.getState(config);
    expect(script(messagesOf(values)).slice(2)).toEqual([RESULTS.throw, RESULTS.pass]);
    expect(tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value))).toEqual(["may I?"]);
    const lines = pairedScript(await graph.invoke(new Command({ resume: "yes" }), config));
    expect(lines.slice(2)).toEqual(["tool: answered yes", RESULTS.throw, RESULTS.pass, "ai: done"]);
    expect(runs).toEqual(["ask", "pass", "ask"]);
  });

  it("terminates: the model is not called after the decision", async () => {
    const { graph } = agent(batch("ask", "terminate"));
    await graph.invoke(user("go"), config);
    const lines = pairedScript(await graph.invoke(new Command({ resume: "yes" }), config));
    expect(lines.slice(2)).toEqual(["tool: answered yes", RESULTS.terminate]);
  });
});

describe("an abort", () => {
  it.each(["before", "after"] as const)("ends a middleware's wait %s next()", async (place) => {
    const probe = createProbe();
    const controller = new AbortController();
    const waiting = functionMiddleware(async function wait(_context, next) {
      if (place === "after") await next();
      setTimeout(() => controller.abort(), 20);
      await delay(60_000, undefined, { ref: false });
    });
    const model = scripted(calls(["fast"]), "done");
    const checkpointer = new MemorySaver();
    const graph = createAgentGraph({ model, tools: [probe.fast], middleware: [waiting], checkpointer });
    const run = graph.invoke(user("go"), { ...config, signal: controller.signal });
    await expect(run).rejects.toThrow(/abort/i);
    const lines = pairedScript(await graph.invoke(user("hello"), config));
    expect(lines.slice(3)).toEqual(["human: hello", "ai: done"]);
    expect(probe.runs).toHaveLength(place === "after" ? 1 : 0);
  });
});

describe("no middleware sees a call", () => {
  const seeing = (seen: FunctionContext[]) => [
    functionMiddleware(async (context, next) => {
      seen.push(context);
      await next();
    }),
  ];

  it("with malformed arguments, and no tool runs, not even one without required arguments", async () => {
    const seen: FunctionContext[] = [];
    const probe = createProbe();
    const broken = new AIMessageChunk({
      content: "",
      tool_call_chunks: [
        { type: "tool_call_chunk", index: 0, id: "bad", name: "fast", args: '{"label": oops' },
      ],
    });
    const model = scripted([broken], "done");
    const graph = createAgentGraph({ model, tools: [probe.fast], middleware: seeing(seen) });
    const lines = pairedScript(await graph.invoke(user("go")));
    expect(lines[2]).toMatch(/^tool! Error: the arguments of `fast` were refused, so it was not run/);
    expect([probe.runs, seen]).toEqual([[], []]);
  });
});
