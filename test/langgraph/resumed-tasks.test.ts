import { Command, INTERRUPT, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { resumedTasks } from "../../src/langgraph/resumed-tasks.js";
import { inThread, oneNode, say } from "../support/plain-graph.js";

function missing(): never {
  throw new Error("Nothing was saved.");
}

describe("the tasks that were resumed", () => {
  it("are known by the resume values among the writes of a checkpoint", async () => {
    const saver = new MemorySaver();
    const graph = oneNode(() => {
      interrupt("first?");
      interrupt("second?");
    }, saver);
    const hasAnswer = async () => {
      const { pendingWrites = [], ...tuple } = (await saver.getTuple(inThread)) ?? missing();
      const waiting = pendingWrites.find(([, channel]) => channel === INTERRUPT)?.[0] ?? missing();
      return resumedTasks({ ...tuple, pendingWrites }).has(waiting);
    };
    await graph.invoke(say("hi"), inThread);
    expect(await hasAnswer()).toBe(false);
    await graph.invoke(new Command({ resume: "yes" }), inThread);
    expect(await hasAnswer()).toBe(true);
  });
});
