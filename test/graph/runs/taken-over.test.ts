/** Threads of a LangChain agent that this library's agent takes over in the middle of a batch. */

import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const config = inThread("1");

/** A thread of `createAgent` whose run was cancelled when one of two tools had returned. */
async function cancelledThread() {
  const checkpointer = new MemorySaver();
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful];
  const asking = new FunctionModel(() => calls(["fast", { label: "1" }, "a"], ["heedful", {}, "b"]));
  const agent = createAgent({ model: asking, tools, checkpointer });
  const abort = new AbortController();
  const run = agent.invoke(user("go"), { ...config, signal: abort.signal });
  await probe.hasBegun(2);
  await expect.poll(async () => (await agent.graph.getState(config)).next.length).toBe(1);
  abort.abort();
  await expect(run).rejects.toThrow(/abort/i);
  const model = new FunctionModel(() => "taken over");
  const graph = createAgentGraph({ model, tools, checkpointer });
  return { graph, probe, model };
}

describe("a thread of createAgent that was cancelled in the middle of a batch", () => {
  it("goes on with the next message, with the result of the finished tool", async () => {
    const { graph, model } = await cancelledThread();
    expect(pairedScript(await graph.invoke(user("next"), config))).toEqual([
      "human: go",
      "ai> fast heedful",
      "tool: fast done 1",
      expect.stringMatching(/^tool! Tool call heedful/),
      "human: next",
      "ai: taken over",
    ]);
    expect(model.refused).toEqual([]);
  });

  it("goes on with null", async () => {
    const { graph, model, probe } = await cancelledThread();
    expect(pairedScript(await graph.invoke(null, config))).toEqual([
      "human: go",
      "ai> fast heedful",
      "tool: fast done 1",
      expect.stringMatching(/^tool! Tool call heedful/),
      "ai: taken over",
    ]);
    expect(model.refused).toEqual([]);
    expect(probe.runs).toHaveLength(2);
  });
});
