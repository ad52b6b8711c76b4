import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { PairedMessagesValue } from "langgraph-tether";

const graph = new StateGraph(new StateSchema({ messages: PairedMessagesValue }))
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
