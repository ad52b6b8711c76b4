import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { watchCheckpointer } from "../../../src/threads/watch-checkpointer.js";
import { inThread, parallelGraph, say } from "../../support/plain-graph.js";
import { turns } from "../../support/turns.js";

describe("the first checkpoint that a run reads", () => {
  it("is the last one of the run before, with the writes of its finished tasks", async () => {
    const saver = new MemorySaver();
    const fail = async () => {
      throw new Error("failed");
    };
    const nodes = [() => say("finished"), fail];
    await expect(parallelGraph(nodes, saver).invoke(say("hi"), inThread)).rejects.toThrow("failed");
    const left = await saver.getTuple(inThread);

    const { checkpointer, checkpoints } = watchCheckpointer(saver);
    const graph = parallelGraph([() => ({})], checkpointer);
    const { messages } = await graph.invoke(say("again"), inThread);
    // New input discards the writes of the tasks.
    expect(messages.map(({ content }: { content: unknown }) => content)).toEqual(["hi", "again"]);
    const { abandoned } = checkpoints;
    expect(abandoned?.checkpoint.id).toBe(left?.checkpoint.id);
    const written = abandoned?.pendingWrites?.filter(([, channel]) => channel === "messages");
    expect(JSON.stringify(written)).toContain("finished");
    expect((await checkpoints.read?.(inThread))?.parentConfig).toBeDefined();
  });

  it("is followed by the values of those that it has saved", async () => {
    const { checkpointer, checkpoints } = watchCheckpointer(new MemorySaver());
    expect(checkpoints.saved).toBeUndefined();
    const graph = parallelGraph([() => say("finished")], checkpointer);
    const { messages } = await graph.invoke(say("hi"), inThread);
    expect(checkpoints.saved?.["messages"]).toEqual(messages);
  });

  it("has been saved when all writes have ended, also those beside one that failed", async () => {
    const saver = new MemorySaver();
    let end = () => {};
    saver.putWrites = (_, [write]) =>
      write?.[1] === "fails" ? Promise.reject(new Error("no")) : new Promise((resolve) => (end = resolve));
    const { checkpointer, saved } = watchCheckpointer(saver);
    const failing = checkpointer?.putWrites(inThread, [["messages", "fails"]], "1");
    void checkpointer?.putWrites(inThread, [["messages", "waits"]], "2");
    await expect(failing).rejects.toThrow("no");
    let isSaved = false;
    const all = saved().then(() => {
      isSaved = true;
    });
    await turns();
    expect(isSaved).toBe(false);
    end();
    await all;
  });

  it("is unknown without a checkpointer", () => {
    expect(watchCheckpointer(undefined).checkpoints).toMatchObject({ abandoned: undefined, isFork: false });
  });
});
