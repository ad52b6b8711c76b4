import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { findSafeCutoff } from "langgraph-tether";

const history = [
  new HumanMessage("Hello!"),
  new AIMessage("Hi!"),
  new HumanMessage("What is the weather in Paris?"),
  new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: { city: "Paris" } }] }),
  new ToolMessage({ tool_call_id: "c1", content: "18 °C" }),
];
// Keeping one message would keep the result without its call, so the cut moves back.
console.log(findSafeCutoff(history, { messages: 1 })); // 3
