import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { diagnoseThread } from "langgraph-tether/doctor";

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
const { outcome, findings } = await diagnoseThread({ graph, config });
console.log(
  outcome,
  findings.map(({ code }) => code),
); // findings [ 'pairing/dangling-call' ]
