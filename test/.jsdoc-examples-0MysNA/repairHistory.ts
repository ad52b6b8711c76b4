import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { repairHistory } from "langgraph-tether";

const { messages, repairs } = repairHistory([
  new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
  new HumanMessage("Are you there?"),
]);
console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human' ]
console.log(repairs.map((repair) => repair.kind)); // [ 'call-closed' ]
