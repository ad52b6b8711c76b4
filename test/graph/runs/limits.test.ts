import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type AgentEvent, type AgentGraphOptions, createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedMessagesOf, pairedScript, script, user } from "../../support/thread.js";

/** A graph over the offline model with the probe's tools, one run of it, and what it ran. */
async function run(request: string, options: Partial<AgentGraphOptions> = {}, config: object = {}) {
  const probe = createProbe();
  const graph = createAgentGraph({ model: "offline:", tools: [probe.fast, probe.failing], ...options });
  const events: AgentEvent[] = [];
  let last: unknown;
  const stream = await graph.stream(user(request), { ...config, streamMode: ["custom", "values"] });
  for await (const [mode, data] of stream as AsyncIterable<[string, unknown]>) {
    if (mode === "custom" && (data as AgentEvent).type !== "run-end") events.push(data as AgentEvent);
    else last = data;
  }
  return { messages: pairedMessagesOf(last), runs: probe.runs, events };
}

/** A thread of such a graph. */
function thread(options: Partial<AgentGraphOptions> = {}) {
  const probe = createProbe();
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast],
    checkpointer: new MemorySaver(),
    ...options,
  });
  return { probe, graph, config: { configurable: { thread_id: "1" } } };
}

/** This many rounds in sequence, with calls of the given tools. */
const rounds = (count: number, ...names: string[]) =>
  Array.from({ length: count }, (_, round) =>
    names.map((name) => `call ${name} {"label": "${round}"}`).join(" and "),
  ).join(", then ");

function expectText(messages: readonly BaseMessage[]): void {
  const last = messages.at(-1);
  expect(last?.type).toBe("ai");
  expect(last?.text).not.toBe("");
}

describe("maxIterations", () => {
  it.each([1, 2, 3])(
    "%i lets the model be called so often with tools, and once more without",
    async (limit) => {
      const { messages, runs, events } = await run(rounds(6, "fast"), { maxIterations: limit });
      expect(runs).toHaveLength(limit);
      expect(script(messages)).toHaveLength(2 + 2 * limit);
      expectText(messages);
      expect(events).toEqual([{ type: "limit-reached", limit: "max-iterations" }]);
    },
  );

  it("is 40 by default", async () => {
    const { runs, messages } = await run(rounds(45, "fast"));
    expect(runs).toHaveLength(40);
    expectText(messages);
  });

  it("begins anew with each turn of a thread", async () => {
    const { probe, graph, config } = thread({ maxIterations: 2 });
    await graph.invoke(user(rounds(3, "fast")), config);
    const result = await graph.invoke(user(rounds(3, "fast")), config);
    expect(probe.runs).toHaveLength(4);
    expectText(pairedMessagesOf(result));
  });

  it("allows a turn that needs exactly this many", async () => {
    const { runs, messages, events } = await run(rounds(2, "fast"), { maxIterations: 3 });
    expect(runs).toHaveLength(2);
    expect(messages.at(-1)?.text).toContain("fast done 1");
    expect(events).toEqual([]);
  });
});

describe("the closing call", () => {
  it("declares the tools, forbids their use, and drops a call that the model makes anyway", async () => {
    const probe = createProbe();
    const model = scripted(calls(["fast"]), calls(["fast"], ["failing"]));
    const graph = createAgentGraph({ model, tools: [probe.fast, probe.failing], maxIterations: 1 });
    const messages = pairedMessagesOf(await graph.invoke(user("go")));
    expect(probe.runs).toEqual(["fast:-"]);
    expect(script(messages).slice(0, 3)).toEqual(["human: go", "ai> fast", "tool: fast done -"]);
    expectText(messages);
    expect(messages).toHaveLength(4);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, "none"]);
    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([
      ["fast", "failing"],
      ["fast", "failing"],
    ]);
  });
});

describe("maxToolCalls", () => {
  const cases: readonly (readonly [limit: number, batch: number, ran: number])[] = [
    [0, 1, 0],
    [1, 1, 1],
    [2, 1, 2],
    [2, 2, 2],
    [3, 2, 2],
    [1, 2, 0],
    [5, 3, 3],
  ];

  it.each(cases)("%i with batches of %i runs %i calls, and ends in text", async (limit, batch, ran) => {
    const { messages, runs, events } = await run(rounds(5, ...Array(batch).fill("fast")), {
      maxToolCalls: limit,
    });
    expect(runs).toHaveLength(ran);
    expectText(messages);
    expect(events).toEqual([{ type: "limit-reached", limit: "max-tool-calls" }]);
  });

  it("gives a result to each call of the batch that it does not run", async () => {
    const { messages } = await run(rounds(1, "fast", "fast", "fast"), { maxToolCalls: 2 });
    expect(script(messages).slice(2, 5)).toEqual(
      Array(3).fill("tool! Not run: the limit of tool calls for one turn is reached."),
    );
  });

  it("begins anew with each turn of a thread", async () => {
    const { probe, graph, config } = thread({ maxToolCalls: 1 });
    for (const label of ["a", "b"]) await graph.invoke(user(`call fast {"label": "${label}"}`), config);
    expect(probe.runs).toEqual(["fast:a", "fast:b"]);
  });
});

describe("maxConsecutiveErrors", () => {
  it.each([1, 2, 3])("%i rounds of failures are followed by a text", async (limit) => {
    const { messages, runs, events } = await run(rounds(6, "failing"), { maxConsecutiveErrors: limit });
    expect(runs).toHaveLength(limit);
    expectText(messages);
    expect(events).toEqual([{ type: "limit-reached", limit: "max-consecutive-errors" }]);
  });

  it("is 3 by default", async () => {
    expect((await run(rounds(6, "failing"))).runs).toHaveLength(3);
  });

  it("does not count a round in which one call succeeded", async () => {
    const { runs, events } = await run(rounds(4, "failing", "fast"), { maxConsecutiveErrors: 2 });
    expect(runs).toHaveLength(8);
    expect(events).toEqual([]);
  });

  it("counts from the start again after a success", async () => {
    const request = [rounds(1, "failing"), rounds(1, "fast"), rounds(1, "failing"), rounds(1, "fast")].join(
      ", then ",
    );
    const { runs, events } = await run(request, { maxConsecutiveErrors: 2 });
    expect(runs).toHaveLength(4);
    expect(events).toEqual([]);
  });
});

describe("the recursion limit", () => {
  it.each([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
    "of %i ends a task of many rounds with a text, and every call answered",
    async (recursionLimit) => {
      const { messages, events, runs } = await run(rounds(20, "fast", "failing"), {}, { recursionLimit });
      expectText(messages);
      expect(events).toEqual([{ type: "limit-reached", limit: "recursion-limit" }]);
      // Superstep by superstep: the model, its tools, the model, …, and one is LangGraph's own.
      expect(runs).toHaveLength(2 * Math.max(0, Math.floor((recursionLimit - 2) / 2)));
    },
  );

  async function brokenThread() {
    const { graph, config } = thread();
    await graph.updateState(config, { messages: [{ role: "user", content: "x" }, calls(["fast"])] });
    return { graph, config };
  }

  it.each([3, 4, 5, 6])("of %i also limits a turn that begins with a repair", async (recursionLimit) => {
    const { graph, config } = await brokenThread();
    const result = await graph.invoke(user(rounds(20, "fast")), { ...config, recursionLimit });
    expectText(pairedMessagesOf(result));
  });

  it("of 2 leaves no room for a repair and an answer, and the next run goes on", async () => {
    const { graph, config } = await brokenThread();
    const run = graph.invoke(user("hello"), { ...config, recursionLimit: 2 });
    await expect(run).rejects.toThrow("Recursion limit of 2 reached");
    expectText(pairedMessagesOf(await graph.invoke(user("hello again"), config)));
  });

  it("suffices for maxIterations if the caller sets none", async () => {
    const { runs } = await run(rounds(30, "fast"), { maxIterations: 30 });
    expect(runs).toHaveLength(30);
  });

  it("counts from the beginning of the run, not of the thread", async () => {
    const { graph, config } = thread();
    for (let turn = 0; turn < 5; turn += 1) {
      const result = await graph.invoke(user(rounds(2, "fast")), { ...config, recursionLimit: 8 });
      expect(pairedScript(result)).toHaveLength(6 * (turn + 1));
    }
  });
});
