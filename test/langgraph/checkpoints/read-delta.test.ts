import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { PairedMessagesDeltaValue } from "../../../src/threads/langgraph/channels.js";
import { readDelta } from "../../../src/threads/langgraph/read-checkpoints.js";
import { human } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";

const thread = { configurable: { thread_id: "1", checkpoint_ns: "" } };

async function saved() {
  const saver = new MemorySaver();
  const graph = new StateGraph(new StateSchema({ messages: PairedMessagesDeltaValue }))
    .addNode("idle", () => ({}))
    .addEdge(START, "idle")
    .compile({ checkpointer: saver });
  for (const id of ["h1", "h2"]) await graph.invoke({ messages: [human(id)] }, thread);
  return saver;
}

describe("The history of a checkpoint of a delta channel", () => {
  it("is not in the checkpoint, and is read from its ancestors", async () => {
    const saver = await saved();
    const tuple = await saver.getTuple(thread);
    expect(tuple?.checkpoint.channel_values).not.toHaveProperty("messages");
    expect(outline((await readDelta(saver, tuple?.config ?? thread)) as BaseMessage[])).toBe("h1 h2");
  });

  it("is undefined for a saver that does not know delta channels", async () => {
    const saver = await saved();
    const old = Object.assign(Object.create(saver), { getDeltaChannelHistory: undefined });
    expect(await readDelta(old, thread)).toBeUndefined();
  });
});
