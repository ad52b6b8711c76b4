import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { readHistory } from "../../src/threads/langgraph/read-checkpoints.js";
import {
  isSavedRun,
  isServedRun,
  isSubgraphRun,
  withoutForgedKeys,
} from "../../src/threads/langgraph/run-host.js";
import { inThread, oneNode, say } from "../support/plain-graph.js";

describe("the `configurable` of a task", () => {
  it.each([
    ["with a checkpointer", new MemorySaver(), true],
    ["without one", undefined, false],
  ] as const)("tells whether its run is saved, %s", async (_title, saver, isSaved) => {
    const found: boolean[] = [];
    await oneNode((_, config) => void found.push(isSavedRun(config)), saver).invoke(say("hi"), inThread);
    expect(found).toEqual([isSaved]);
  });

  it("has the history that its step began with", async () => {
    let read: unknown;
    let given: unknown;
    await oneNode((state, config) => {
      given = state.messages;
      read = readHistory(config)?.messages;
    }).invoke(say("hi"));
    expect(read).toHaveLength(1);
    expect(read).toEqual(given);
  });

  it("tells a graph inside the task that it is a subgraph", async () => {
    const found: boolean[] = [isSubgraphRun(inThread)];
    await oneNode((_, config) => void found.push(isSubgraphRun(config))).invoke(say("hi"));
    expect(found).toEqual([false, true]);
  });

  it("is no client's: JSON does not make a run a subgraph or one of a server", () => {
    const configurable = { __pregel_read: {}, __pregel_checkpointer: {}, assistant_id: "a", thread_id: "1" };
    expect([isSubgraphRun({ configurable }), isServedRun({ configurable })]).toEqual([false, false]);
    expect(withoutForgedKeys({ configurable })).toEqual({
      configurable: { assistant_id: "a", thread_id: "1" },
    });
  });

  it("has none of this for a node that runs outside a graph", () => {
    expect([isSavedRun({}), isSubgraphRun({}), isServedRun({}), readHistory({})]).toEqual([
      false,
      false,
      false,
      undefined,
    ]);
  });
});
