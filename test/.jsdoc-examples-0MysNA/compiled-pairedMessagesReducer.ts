import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { pairedMessagesReducer } from "langgraph-tether";

const State = Annotation.Root({
  messages: Annotation({ reducer: pairedMessagesReducer, default: () => [] }),
});
const graph = new StateGraph(State)
  .addNode("late", () => ({ messages: [new ToolMessage({ tool_call_id: "c1", content: "18 °C" })] }))
  .addEdge(START, "late")
  .addEdge("late", END)
  .compile();
const { messages } = await graph.invoke({
  messages: [
    new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
    new HumanMessage("Are you there?"),
  ],
});
console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human' ]
