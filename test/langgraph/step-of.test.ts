import { MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { stepOf } from "../../src/threads/langgraph/wrappable-graph.js";
import { inThread, say } from "../support/plain-graph.js";

describe("the superstep of a task", () => {
  it("grows by one with each step, over all runs of a thread", async () => {
    const steps: (number | undefined)[] = [];
    const note = (_: unknown, config: object) => void steps.push(stepOf(config));
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("first", note as never)
      .addNode("second", note as never)
      .addEdge(START, "first")
      .addEdge("first", "second")
      .compile({ checkpointer: new MemorySaver() });
    await graph.invoke(say("hi"), inThread);
    await graph.invoke(say("again"), inThread);
    // The input of a run is a step too.
    expect(steps).toEqual([1, 2, 5, 6]);
  });

  it("is unknown to a node that runs outside a graph", () => {
    expect(stepOf({})).toBeUndefined();
  });
});
