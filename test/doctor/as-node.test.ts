/** Threads whose last node LangGraph cannot tell, or that the graph does not have any more. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { applyRepair, createGraphStore, planRepair, type ReceiptEntry, undo } from "../../src/doctor.js";
import { inThread } from "../support/thread.js";

const DANGLING = [
  new HumanMessage({ id: "h1", content: "Hello" }),
  new AIMessage({ id: "a1", content: "", tool_calls: [{ id: "c1", name: "look", args: {} }] }),
  new HumanMessage({ id: "h2", content: "Are you there?" }),
];

/** A graph with two nodes, of which the second one has this name. */
const graphWith = (last: string, checkpointer: MemorySaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("first", () => ({}))
    .addNode(last, () => ({}))
    .addEdge("__start__", "first")
    .addEdge("first", last)
    .compile({ checkpointer });

function receiptOf(entries: ReceiptEntry[]) {
  return { append: async (entry: ReceiptEntry) => void entries.push(entry) };
}

it("A thread whose last node was renamed is written as another node that it has run", async () => {
  const checkpointer = new MemorySaver();
  await graphWith("old", checkpointer).invoke({ messages: DANGLING }, inThread("1"));
  const graph = graphWith("renamed", checkpointer);
  const place = { graph, config: inThread("1") };
  const outcome = await applyRepair(place, await planRepair(place), { receipt: receiptOf([]) });
  expect(outcome).toMatchObject({ kind: "repaired", report: { outcome: "sound" } });
  await graph.invoke({ messages: [new HumanMessage("Go on.")] }, inThread("1"));
});

it("A thread that no node has run needs the name of one, and the errors say so", async () => {
  const checkpointer = new MemorySaver();
  const graph = graphWith("last", checkpointer);
  const imported = {
    ...emptyCheckpoint(),
    channel_values: { messages: DANGLING },
    channel_versions: { messages: 1 },
    versions_seen: { __input__: { __start__: 1 } },
  };
  const { configurable } = inThread("1");
  const metadata = { source: "update", step: 0, parents: {} } as const;
  await checkpointer.put({ configurable: { ...configurable, checkpoint_ns: "" } }, imported, metadata);
  const place = { graph, config: inThread("1") };
  const entries: ReceiptEntry[] = [];
  const apply = async (asNode?: string) =>
    applyRepair(place, await planRepair(place), { receipt: receiptOf(entries), asNode });

  expect(await apply()).toMatchObject({
    kind: "failed",
    error: expect.stringMatching(
      /^Node "__input__" does not exist.*with --as-node \(`asNode` in the library\): first, last\.$/s,
    ),
  });
  expect(await apply("lasst")).toMatchObject({
    kind: "failed",
    error: "The graph has no node `lasst`. Its nodes are first, last.",
  });
  expect(await apply("last")).toMatchObject({ kind: "repaired" });
  const kinds = [];
  for await (const { kind } of undo(createGraphStore({ graph }), entries.slice(-2), { asNode: "last" }))
    kinds.push(kind);
  expect(kinds).toEqual(["restored"]);
});
