import { Annotation, MemorySaver, Overwrite, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { FoldChannel } from "../../../src/threads/langgraph/channels.js";
import { inThread } from "../../support/plain-graph.js";

const concat = (left: unknown, right: unknown) => [left, right].flat();

/** A graph in which these writes happen in one step. */
function parallel(channel: unknown, writes: readonly unknown[]) {
  const graph = new StateGraph(Annotation.Root({ list: channel as never })) as unknown as {
    addNode(name: string, node: () => object): void;
    addEdge(from: string, to: string): void;
    compile(options: object): { invoke(input: object, config: object): Promise<unknown> };
  };
  for (const [index, write] of writes.entries()) {
    graph.addNode(`node${index}`, () => ({ list: write }));
    graph.addEdge(START, `node${index}`);
  }
  return graph.compile({ checkpointer: new MemorySaver() });
}

const writes = [["a"], new Overwrite(["b"]), ["c"], new Overwrite(["d"]), ["e"]];

describe("a channel that folds", () => {
  it("takes several replacements in one step, and what follows them", async () => {
    const graph = parallel(new FoldChannel(concat, () => ["start"]), writes);
    expect(await graph.invoke({ list: ["input"] }, inThread)).toEqual({ list: ["d", "e"] });
    expect(await graph.invoke({ list: new Overwrite([]) }, inThread)).toEqual({ list: ["d", "e"] });
  });

  it("is needed, because LangGraph's own one refuses them", async () => {
    const own = Annotation<unknown>({ reducer: concat, default: () => [] });
    await expect(parallel(own, writes).invoke({ list: [] }, inThread)).rejects.toThrow("Overwrite");
  });

  it("has no value at first without a default, and then the first one", () => {
    const channel = new FoldChannel(concat).fromCheckpoint();
    expect(channel.isAvailable()).toBe(false);
    expect([channel.update([]), channel.update([["a"], ["b"]]), channel.get()]).toEqual([
      false,
      true,
      ["a", "b"],
    ]);
    expect(channel.fromCheckpoint(["c"]).get()).toEqual(["c"]);
  });
});
