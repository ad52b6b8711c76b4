import { RemoveMessage } from "@langchain/core/messages";
import {
  Annotation,
  DeltaChannel,
  MemorySaver,
  MessagesAnnotation,
  Overwrite,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import {
  compiledGraphOf,
  type ForeignGraph,
  isDeltaChannel,
  readSnapshot,
  stopsBefore,
  tolerantChannel,
  writeMessages,
} from "../../../../src/threads/langgraph/swap-channel.js";
import { pinMessages, RunSaver } from "../../../support/internals.js";
import { oneNode } from "../../../support/plain-graph.js";
import { scripted } from "../../../support/scripted-model.js";
import { inThread, user } from "../../../support/thread.js";

const graphOf = (agent: unknown): ForeignGraph => {
  const graph = compiledGraphOf(agent);
  if (graph === undefined) throw new Error("It is not a compiled graph.");
  return graph;
};

describe("the state of somebody else's graph", () => {
  it("finds the graph of an agent, and none in anything else", () => {
    const agent = createAgent({ model: scripted(), tools: [] });
    expect(compiledGraphOf(agent)).toBe(agent.graph);
    expect(compiledGraphOf(agent.graph)).toBe(agent.graph);
    for (const value of [undefined, {}, { graph: {} }, new StateGraph(MessagesAnnotation)])
      expect(compiledGraphOf(value)).toBeUndefined();
  });

  it("writes exactly the given list, and LangGraph stores it as it stores any other", async () => {
    const saver = new MemorySaver();
    const graph = oneNode(() => ({}), saver);
    await graph.invoke(user("Hello!"), inThread("1"));
    const list = [{ any: "value" }, "text"];
    const written = await writeMessages(graphOf(graph), saver, inThread("1"), list, undefined);
    const tuple = await saver.getTuple(written);
    expect(tuple?.checkpoint.channel_values["messages"]).toEqual(list);
    expect(tuple?.parentConfig).toBeDefined();
    expect((await graph.getState(inThread("1"))).values.messages).toEqual(list);
  });

  it("writes through a guard of the latest checkpoint, and calls LangGraph's method, not that of a subclass", async () => {
    const saver = new MemorySaver();
    const graph = oneNode(() => ({}), saver);
    await graph.invoke(user("Hello!"), inThread("1"));
    graph.bulkUpdateState = () => Promise.reject(new Error("This method is the user's."));
    const guarded = { threadId: "1", messageIds: () => [] };
    const { checkpointer } = new RunSaver(saver, { signal: undefined, guarded });
    await writeMessages(graphOf(graph), checkpointer, inThread("1"), [], undefined);
    expect((await graph.getState(inThread("1"))).values.messages).toEqual([]);
  });

  it("reads a delta channel whose reducer throws, with `Overwrite` and snapshots", async () => {
    const messages = new DeltaChannel<unknown[], unknown>(
      (list, writes) => {
        if (writes.flat().some((write) => write === "broken")) throw new Error("The reducer throws.");
        return [...(list ?? []), ...writes.flat()];
      },
      { snapshotFrequency: 2 },
    );
    const builder = new StateGraph(Annotation.Root({ messages: Annotation<unknown>() }));
    Object.assign(builder.channels, { messages });
    const saver = new MemorySaver();
    let next: unknown = ["b"];
    const graph = builder
      .addNode("node", () => ({ messages: next }))
      .addEdge(START, "node")
      .compile({ checkpointer: saver });
    const foreign = graphOf(graph);
    expect(isDeltaChannel(foreign.channels["messages"])).toBe(true);
    await graph.invoke({ messages: ["a"] }, inThread("1"));
    next = new Overwrite(["c"]);
    await graph.invoke({ messages: ["d"] }, inThread("1"));
    next = ["broken"];
    await expect(graph.invoke({ messages: ["e"] }, inThread("1"))).rejects.toThrow();
    await expect(graph.getState(inThread("1"))).rejects.toThrow("The reducer throws.");
    const channel = tolerantChannel(messages, (list, writes) => [
      ...((list ?? []) as unknown[]),
      ...writes.flat(),
    ]);
    const { values } = await readSnapshot(foreign, saver, inThread("1"), channel);
    expect(values["messages"]).toEqual(["c", "e", "broken"]);
    await writeMessages(foreign, saver, inThread("1"), ["repaired"], undefined);
    next = ["f"];
    await graph.invoke({ messages: ["g"] }, inThread("1"));
    expect((await graph.getState(inThread("1"))).values.messages).toEqual(["repaired", "g", "f"]);
  });

  it("knows the nodes at which a graph stops for a human", () => {
    const build = () =>
      new StateGraph(MessagesAnnotation).addNode("tools", () => ({})).addEdge(START, "tools");
    const before = graphOf(build().compile({ interruptBefore: ["tools"] }));
    const after = graphOf(build().compile({ interruptAfter: ["tools"] }));
    const never = graphOf(build().compile());
    expect([before, after, never].map((graph) => stopsBefore(graph, ["tools"]))).toEqual([true, true, false]);
    expect(stopsBefore(before, [])).toBe(false);
  });
});

it("a message that was read has its stored JSON, and one that cannot be read does not hide the others", async () => {
  const saver = new MemorySaver();
  const graph = oneNode(() => ({}), saver);
  let deep: object = {};
  for (let level = 0; level < 60; level += 1) deep = { deep };
  await graph.invoke(user("Hello!"), inThread("1"));
  await graph
    .invoke(
      { messages: [{ role: "user", content: "Deep.", additional_kwargs: deep }] } as never,
      inThread("1"),
    )
    .catch(() => {});
  await expect(saver.getTuple(inThread("1"))).rejects.toThrow();
  const tuple = await pinMessages(saver).getTuple(inThread("1"));
  const values = tuple?.checkpoint.channel_values as { messages?: unknown[]; __start__?: unknown };
  expect(JSON.stringify(values)).toContain("Hello!");
  expect(JSON.stringify(values)).toContain("Deep.");
  expect(new RemoveMessage({ id: "x" }).id).toBe("x");
});
