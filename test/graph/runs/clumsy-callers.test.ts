/** Values that a caller can easily get wrong, and what was bound to a graph before its run. */

import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, readFullHistory, restoreCovered, toModelInput } from "../../../src/index.js";
import { approvalThread, asInput } from "../../support/approval-graph.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { user } from "../../support/thread.js";

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

  it("how many tools run at once", async () => {
    let running = 0;
    let most = 0;
    const slow = tool(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return "done";
      },
      { name: "slow", description: "slow", schema: z.object({}) },
    );
    const graph = createAgentGraph({ model: scripted(calls(["slow"], ["slow"]), "end"), tools: [slow] });
    await graph.withConfig({ maxConcurrency: 1 }).invoke(user("go"));
    expect(most).toBe(1);
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
  const down = tool(
    async () => {
      throw refused;
    },
    { name: "down", description: "down", schema: z.object({}) },
  );
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

it.each(["invoke", "stream"] as const)(
  "a signal that is not an AbortSignal: %s refuses it by name",
  async (method) => {
    const graph = createAgentGraph({ model: "offline:" });
    const run = graph[method](user("go"), { signal: "x" as never });
    await expect(run).rejects.toThrow('Expected `signal` to be an AbortSignal, got `"x"`.');
  },
);
