import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { toModelInput } from "langgraph-tether";

const history = [
  new AIMessage({ content: "", tool_calls: [{ id: "call:1", name: "weather", args: {} }] }),
  new HumanMessage("Are you there?"),
];
const input = toModelInput(history, { systemPrompt: "Be brief.", dialect: "openai" });
console.log(input.map((message) => message.type)); // [ 'system', 'ai', 'tool', 'human' ]
