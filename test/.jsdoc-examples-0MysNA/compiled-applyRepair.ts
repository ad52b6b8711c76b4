import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { applyRepair, planRepair, type ReceiptEntry } from "langgraph-tether/doctor";

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", () => ({}))
  .addEdge("__start__", "model")
  .compile({ checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "1" } };
await graph.invoke(
  {
    messages: [
      new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
      new HumanMessage({ id: "b", content: "Are you there?" }),
    ],
  },
  config,
);
const receipt: ReceiptEntry[] = [];
const append = async (entry: ReceiptEntry) => void receipt.push(entry);
const place = { graph, config };
const { kind } = await applyRepair(place, await planRepair(place), { receipt: { append } });
console.log(
  kind,
  receipt.map((entry) => entry.kind),
); // repaired [ 'intent', 'result' ]
