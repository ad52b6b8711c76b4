import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { applyRepair, createGraphStore, planRepair, type ReceiptEntry, undo } from "langgraph-tether/doctor";

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", () => ({}))
  .addEdge("__start__", "model")
  .compile({ checkpointer: new MemorySaver() });
const place = { graph, config: { configurable: { thread_id: "1" } } };
await graph.invoke(
  {
    messages: [
      new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
      new HumanMessage({ id: "b", content: "Are you there?" }),
    ],
  },
  place.config,
);
const receipt: ReceiptEntry[] = [];
const append = async (entry: ReceiptEntry) => void receipt.push(entry);
await applyRepair(place, await planRepair(place), { receipt: { append } });
for await (const { threadId, kind } of undo(createGraphStore({ graph }), receipt)) {
  console.log(threadId, kind); // 1 restored
}
