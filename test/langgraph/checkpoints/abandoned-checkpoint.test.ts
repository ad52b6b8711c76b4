import { Command, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  hasNewInput,
  nodesToEnter,
  waitsForNode,
  writesByTask,
  writesOfCommand,
} from "../../../src/threads/langgraph/read-checkpoints.js";
import { watchCheckpointer } from "../../../src/threads/watch-checkpointer.js";
import { inThread, oneNode, parallelGraph, say } from "../../support/plain-graph.js";

function missing(): never {
  throw new Error("Nothing was saved.");
}

const texts = (values: readonly unknown[]) => JSON.stringify(values).match(/finished \d|noted/g);

describe("the checkpoint of a run that ended early", () => {
  it("has what each finished task wrote", async () => {
    const saver = new MemorySaver();
    const fail = async () => {
      throw new Error("failed");
    };
    const graph = parallelGraph([() => say("finished 1"), fail, () => say("finished 2")], saver);
    await expect(graph.invoke(say("hi"), inThread)).rejects.toThrow("failed");
    const tuple = (await saver.getTuple(inThread)) ?? missing();
    expect(
      writesByTask(tuple, ["messages"]).map((writes) => texts(writes.map(([, value]) => value))),
    ).toEqual([["finished 1"], ["finished 2"]]);
    expect(writesByTask(tuple, ["other"])).toEqual([]);
  });

  it("has the update of a Command apart from the writes of tasks", async () => {
    const saver = new MemorySaver();
    const graph = oneNode(() => void [interrupt("first?"), interrupt("second?")], saver);
    await graph.invoke(say("hi"), inThread);
    await graph.invoke(new Command({ resume: "yes", update: say("noted") }), inThread);
    const tuple = (await saver.getTuple(inThread)) ?? missing();
    expect(texts(writesOfCommand(tuple, "messages"))).toEqual(["noted"]);
    expect(writesByTask(tuple, ["messages"])).toEqual([]);
  });

  it("tells whether the run has read its input, and which node it was about to enter", async () => {
    const saver = new MemorySaver();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("patch", () => ({}))
      .addConditionalEdges(START, async () => "patch" as const)
      .compile({ checkpointer: saver });
    await graph.invoke(say("hi"), { ...inThread, interruptBefore: ["patch"] });
    const found = [];
    for await (const tuple of saver.list(inThread)) {
      found.push([waitsForNode(tuple, "patch"), waitsForNode(tuple, "other"), hasNewInput(tuple)]);
    }
    expect(found).toEqual([
      [true, false, false],
      [false, false, true],
    ]);
    expect(nodesToEnter((await saver.getTuple(inThread)) ?? missing())).toEqual(["patch"]);
    await graph.invoke(null, inThread);
    expect(waitsForNode((await saver.getTuple(inThread)) ?? missing(), "patch")).toBe(false);
  });
});

describe("a run that begins on a checkpoint with writes", () => {
  async function abandoned() {
    const saver = new MemorySaver();
    let fails = true;
    const failing = () => {
      if (fails) throw new Error("failed");
      return {};
    };
    const graph = parallelGraph([() => say("finished 1"), failing], saver);
    await expect(graph.invoke(say("hi"), inThread)).rejects.toThrow("failed");
    const left = (await saver.getTuple(inThread)) ?? missing();
    fails = false;
    const { checkpointer, checkpoints } = watchCheckpointer(saver);
    const watched = parallelGraph([() => ({})], checkpointer);
    return { saver, graph, watched, checkpoints, left };
  }

  it("is no fork if it is the latest, even if the run names it", async () => {
    const { watched, checkpoints, left } = await abandoned();
    await watched.invoke(say("again"), left.config);
    expect(checkpoints).toMatchObject({
      isFork: false,
      abandoned: { checkpoint: { id: left.checkpoint.id } },
    });
  });

  it("is a fork if the thread has gone on", async () => {
    const { graph, watched, checkpoints, left } = await abandoned();
    await graph.invoke(null, inThread);
    await watched.invoke(say("again"), left.config);
    expect(checkpoints.isFork).toBe(true);
  });

  it("reads the checkpoint that was saved before another one", async () => {
    const { saver, watched, checkpoints } = await abandoned();
    await watched.invoke(say("again"), inThread);
    const all = [];
    for await (const { config } of saver.list(inThread)) all.push(config.configurable?.["checkpoint_id"]);
    const before = [];
    for await (const { config } of saver.list(inThread))
      before.push((await checkpoints.readBefore?.(config))?.config.configurable?.["checkpoint_id"]);
    expect(before).toEqual([...all.slice(1), undefined]);
  });
});
