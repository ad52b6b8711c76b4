import { DeltaValue, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { messagesSchema } from "../../../src/history/messages-schema.js";
import { pairedMessagesDeltaReducer } from "../../../src/threads/langgraph/channels.js";
import { ai, human, removal, result } from "../../support/make-messages.js";
import { outline, toPlainList } from "../../support/plain-messages.js";

describe("The batch reducer of a delta channel", () => {
  it("takes writes that are one message or many", () => {
    const state = pairedMessagesDeltaReducer(
      [human("h")],
      [ai("a", "c"), [human("h2"), result("t", "c")], "hi"],
    );
    expect(outline(state.slice(0, 4))).toBe("h a t h2");
    expect(state).toHaveLength(5);
  });

  it("has the same result for one batch and for several", () => {
    const writes = [["hi"], ai("a", "c"), [result("t", "c"), "hi"], removal("a"), ["hi"]];
    const atOnce = pairedMessagesDeltaReducer([], writes);
    const batches = [writes.slice(0, 2), writes.slice(2, 3), writes.slice(3)];
    const inTurn = batches.reduce<ReturnType<typeof pairedMessagesDeltaReducer>>(
      pairedMessagesDeltaReducer,
      [],
    );
    expect(toPlainList(inTurn)).toEqual(toPlainList(atOnce));
  });

  it("has the mark that makes LangGraph set ids on plain objects before it saves them", async () => {
    const idsWith = async (reducer: typeof pairedMessagesDeltaReducer) => {
      const saver = new MemorySaver();
      const field = new DeltaValue(
        messagesSchema.default(() => []),
        { reducer },
      );
      const graph = new StateGraph(new StateSchema({ messages: field }))
        .addNode("idle", () => ({}))
        .addEdge(START, "idle")
        .compile({ checkpointer: saver });
      const thread = { configurable: { thread_id: "1" } };
      await graph.invoke({ messages: [{ role: "user", content: "hi" }] as never }, thread);
      const ids: unknown[] = [];
      for await (const { pendingWrites = [] } of saver.list(thread))
        for (const [, channel, value] of pendingWrites)
          if (channel === "messages") ids.push(...[value].flat().map((message) => Object(message).id));
      return ids;
    };
    expect(await idsWith(pairedMessagesDeltaReducer)).toEqual([expect.any(String)]);
    const unmarked = (history: unknown, writes: readonly unknown[]) =>
      pairedMessagesDeltaReducer(history, writes);
    expect(await idsWith(unmarked)).toEqual([undefined]);
  });
});
