/** Values that a caller can easily get wrong, and what was bound to a graph before its run. */

import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, InMemoryStore, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, readFullHistory, restoreCovered, toModelInput } from "../../../src/index.js";
import { allOf } from "../../support/all-of.js";
import { approvalThread, asInput } from "../../support/approval-graph.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

const thread = { configurable: { thread_id: "1" } };

describe("what withConfig binds holds for each run:", () => {
  const failing = tool(async () => "ran", { name: "bad", description: "bad", schema: z.object({}) });

  it("the context, unless the run has its own", async () => {
    const graph = createAgentGraph({ model: scripted("no", calls(["bad"]), "yes"), tools: [failing] });
    const bound = graph.withConfig({ context: { toolChoice: "none" } });
    expect((await bound.invoke(user("go"))).messages).toHaveLength(2);
    expect((await bound.invoke(user("go"), { context: { toolChoice: "auto" } })).messages).toHaveLength(4);
    const misspelt = graph.withConfig({ context: { maxIteration: 1 } as never });
    await expect(misspelt.invoke(user("go"))).rejects.toThrow("Did you mean `maxIterations`?");
  });
});

describe("an update that is not an object with messages is refused, and the question still waits:", () => {
  it.each([
    [[{ role: "user", content: "x" }], "Expected `update` to be an object with `messages`"],
    [5, "Expected `update` to be an object with `messages`"],
    ["text", "Expected `update` to be an object with `messages`"],
    [{ message: [] }, "Did you mean `messages`?"],
  ])("%j", async (update, message) => {
    const { graph, config, ...waiting } = approvalThread([calls(["risky", { label: "1" }])]);
    await graph.invoke(user("go"), config);
    await expect(graph.invoke(asInput({ update } as never), config)).rejects.toThrow(message);
    const { tasks } = await graph.getState(config);
    expect(tasks.flatMap(({ interrupts }) => interrupts)).toHaveLength(1);
    expect(waiting).toBeDefined();
  });

  it("also in updateState", async () => {
    const graph = createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
    await expect(graph.updateState(thread, { message: [] })).rejects.toThrow("Did you mean `messages`?");
    expect(() => new Command({ update: { messages: [] } })).not.toThrow();
  });
});

describe("the snapshot of a thread in the place of its values", () => {
  const store = new InMemoryStore();

  it("is refused with the right name, instead of an update that removes everything", async () => {
    const snapshot = { values: { messages: [] }, next: [] };
    for (const read of [readFullHistory, restoreCovered])
      await expect(read(store, "1", snapshot as never)).rejects.toThrow("Did you mean its `values`?");
  });

  it("an empty thread has no messages, and nothing to restore", async () => {
    expect(await readFullHistory(store, "1", {})).toEqual([]);
    expect(await restoreCovered(store, "1", { messages: [] })).toEqual([]);
  });
});

it("A tool's error without a message tells the model its code", async () => {
  const refused = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });
  const down = makeTool("down", async () => {
    throw refused;
  });
  const graph = createAgentGraph({
    model: scripted(calls(["down"]), "end"),
    tools: [down],
    includeDetailedErrors: true,
  });
  const { messages } = await graph.invoke(user("go"));
  expect(messages.at(2)?.text).toBe("Error: `down` failed: ECONNREFUSED");
});

it("A message id that is not a string breaks no model input", () => {
  const message = Object.assign(new AIMessage("hello"), { id: 5 });
  expect(toModelInput([message], { dialect: "openai-responses" }).at(0)?.text).toBe("hello");
});

const config = { configurable: { thread_id: "1" } };

function createThread() {
  const probe = createProbe();
  const ask = makeTool(
    "ask",
    async ({ question }) => `a human said ${interrupt(question)}`,
    z.object({ question: z.string().default("?") }),
  );
  const graph = createAgentGraph({
    model: "offline:",
    tools: [ask, probe.fast],
    checkpointer: new MemorySaver(),
  });
  const resume = (value: unknown) => graph.invoke(new Command({ resume: value }) as unknown as null, config);
  const read = async () => messagesOf((await graph.getState(config)).values);
  return { graph, probe, resume, read };
}

describe("a run that its caller halts before the tools", () => {
  const halted = async () => {
    const thread = createThread();
    await thread.graph.invoke(user("call fast and call fast"), { ...config, interruptBefore: ["tools"] });
    expect(thread.probe.runs).toEqual([]);
    expect(script(await thread.read())).toEqual(["human: call fast and call fast", "ai> fast fast"]);
    return thread;
  };

  it("goes on with a null input", async () => {
    const { graph, probe } = await halted();
    expect(pairedScript(await graph.invoke(null, config))).toHaveLength(5);
    expect(probe.runs).toHaveLength(2);
  });

  it("takes no results from the caller instead, because the calls are the tools' to answer", async () => {
    const { graph, probe, read } = await halted();
    const [, calling] = await read();
    const ids = (Reflect.get(calling ?? {}, "tool_calls") as { id: string }[]).map(({ id }) => id);
    const messages = ids.map((id) => ({ role: "tool", content: `given ${id}`, tool_call_id: id }));
    const events = await allOf(graph.stream({ messages }, { ...config, streamMode: "custom" }));
    expect(events).toEqual([
      ...ids.map((callId) => ({ type: "result-refused", tool: "fast", callId })),
      ...ids.map((callId) => ({ type: "call-closed", tool: "fast", callId, cause: "not-started" })),
      expect.objectContaining({ type: "run-end" }),
    ]);
    expect(pairedScript(await graph.invoke(user("never mind"), config)).slice(1, 4)).toEqual([
      "ai> fast fast",
      expect.stringMatching(/^tool! Tool call fast .*: its run ended before it was started/),
      expect.stringMatching(/^tool! Tool call fast .*: its run ended before it was started/),
    ]);
    expect(probe.runs).toEqual([]);
  });
});

describe("maxConcurrency of a run", () => {
  it.each([
    [undefined, 4],
    [2, 2],
    [1, 1],
  ])("%j: at most %j calls of a batch at once", async (maxConcurrency, expected) => {
    let running = 0;
    let most = 0;
    const slow = makeTool("slow", async () => {
      running += 1;
      most = Math.max(most, running);
      await turns();
      running -= 1;
      return "done";
    });
    const model = scripted(calls(["slow"], ["slow"], ["slow"], ["slow"]), "the end");
    const graph = createAgentGraph({ model, tools: [slow] });
    const limit = maxConcurrency === undefined ? {} : { maxConcurrency };
    expect(pairedScript(await graph.invoke(user("go"), limit))).toHaveLength(7);
    expect(most).toBe(expected);
  });

  it.each([0, -1, 1.5, "2"])("refuses %j", async (maxConcurrency) => {
    const graph = createAgentGraph({ model: "offline:" });
    const run = graph.invoke(user("go"), { maxConcurrency: maxConcurrency as number });
    await expect(run).rejects.toThrow("`maxConcurrency`");
  });

  it("begins no call when the run has been aborted", async () => {
    const probe = createProbe();
    const model = scripted(calls(["heedful"], ["heedful"], ["heedful"]));
    const graph = createAgentGraph({ model, tools: [probe.heedful] });
    const abort = new AbortController();
    const run = graph.invoke(user("go"), { maxConcurrency: 1, signal: abort.signal });
    await probe.hasBegun(1);
    abort.abort();
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    await turns();
    expect(probe.runs).toHaveLength(1);
  });
});
it.each(["invoke", "stream"] as const)(
  "a signal that is not an AbortSignal: %s refuses it by name",
  async (method) => {
    const graph = createAgentGraph({ model: "offline:" });
    const run = graph[method](user("go"), { signal: "x" as never });
    await expect(run).rejects.toThrow('Expected `signal` to be an AbortSignal, got `"x"`.');
  },
);
