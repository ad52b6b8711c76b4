import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { reduceMessages } from "langgraph-tether";

const history = [
  new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
  new HumanMessage("Are you there?"),
];
const { messages } = reduceMessages(history, new ToolMessage({ tool_call_id: "c1", content: "18 °C" }));
console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human' ]
