/** Pins where LangGraph stores the updates of a delta channel with the durability `exit`. */

import { type CheckpointTuple, MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { belongsToNextRun } from "../../../src/threads/langgraph/read-checkpoints.js";
import { FunctionModel } from "../../support/function-model.js";
import { inThread, user } from "../../support/thread.js";

it("the updates of a run are writes of the checkpoint before it", async () => {
  const saver = new MemorySaver();
  const model = new FunctionModel(({ text }) => `re ${text}`);
  const graph = createAgentGraph({ model, checkpointer: saver, messagesChannel: "delta" });
  const config = { ...inThread("1"), durability: "exit" as const };
  await graph.invoke(user("one"), config);
  const head = (await saver.getTuple(inThread("1"))) as CheckpointTuple;
  await graph.invoke(user("two"), config);
  const { pendingWrites = [] } = (await saver.getTuple(head.config)) as CheckpointTuple;
  const tasks = pendingWrites.filter(([, channel]) => channel === "messages").map(([task]) => task);
  expect(tasks.length).toBeGreaterThan(0);
  expect(tasks.filter((task) => !belongsToNextRun(head)(task))).toEqual([]);
});

it("writes of finished tasks belong to the run of their checkpoint", async () => {
  const saver = new MemorySaver();
  const model = new FunctionModel(({ text }) => `re ${text}`);
  const graph = createAgentGraph({ model, checkpointer: saver, messagesChannel: "delta" });
  await graph.invoke(user("one"), inThread("1"));
  const own: string[] = [];
  for await (const tuple of saver.list(inThread("1")))
    for (const [task, channel] of tuple.pendingWrites ?? [])
      if (channel === "messages" && !belongsToNextRun(tuple)(task)) own.push(task);
  // The input and the response.
  expect(own).toHaveLength(2);
});
