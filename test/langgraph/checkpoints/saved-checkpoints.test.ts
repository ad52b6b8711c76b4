import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { isBeforeModel, savedCheckpoints } from "../../../src/threads/watch-checkpointer.js";
import { inThread, oneNode, say } from "../../support/plain-graph.js";
import { scripted } from "../../support/scripted-model.js";
import { user } from "../../support/thread.js";

describe("savedCheckpoints", () => {
  it("reads the latest checkpoint of the thread through the saver of the run", async () => {
    const found: unknown[] = [];
    const saver = new MemorySaver();
    const graph = oneNode(async (_, config) => {
      found.push((await savedCheckpoints(config))?.abandoned?.config.configurable?.["thread_id"]);
    }, saver);
    await graph.invoke(say("hi"), { ...inThread, durability: "sync" });
    expect(found).toEqual([inThread.configurable.thread_id]);
  });

  it("finds nothing without a saver", async () => {
    const found: unknown[] = [];
    await oneNode(async (_, config) => void found.push(await savedCheckpoints(config))).invoke(say("hi"));
    expect(found).toEqual([undefined]);
  });

  it("finds nothing in a subgraph, whose checkpoints are those of one call", async () => {
    const found: unknown[] = [];
    const inner = oneNode(async (_, config) => void found.push(await savedCheckpoints(config)));
    const outer = oneNode(async (_, config) => {
      await inner.invoke(say("hi"), config as RunnableConfig);
    }, new MemorySaver());
    await outer.invoke(say("hi"), inThread);
    expect(found).toEqual([undefined]);
  });
});

describe("isBeforeModel", () => {
  it("knows the checkpoints of LangChain's agents in which the model was not asked yet", async () => {
    const saver = new MemorySaver();
    const idle = createMiddleware({
      name: "Idle",
      beforeAgent: () => undefined,
      beforeModel: () => undefined,
    });
    const agent = createAgent({ model: scripted("Hi."), middleware: [idle], checkpointer: saver });
    await agent.invoke(user("hi") as never, { configurable: { thread_id: "1" } });
    const found: boolean[] = [];
    for await (const tuple of saver.list({ configurable: { thread_id: "1" } }))
      found.push(isBeforeModel(tuple));
    // The input, before the agent, before the model, the request, and the end.
    expect(found.reverse()).toEqual([false, true, true, true, false]);
  });
});
