import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { explainInput } from "langgraph-tether";

const history = [
  new AIMessage({ content: "", tool_calls: [{ id: "call:1", name: "weather", args: {} }] }),
  new HumanMessage("Are you there?"),
];
const { stored, added } = explainInput(history, { dialect: "anthropic" });
console.log(stored.map(({ fate, reasons }) => `${fate} ${reasons.map(({ code }) => code)}`)); // [ 'changed call-id-renamed', 'sent ' ]
console.log(added.map(({ inputIndex, reasons }) => `${inputIndex} ${reasons.map(({ code }) => code)}`)); // [ '0 bridge', '2 placeholder,call-id-renamed' ]
