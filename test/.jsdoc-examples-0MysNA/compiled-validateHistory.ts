import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { validateHistory } from "langgraph-tether";

const violations = validateHistory(
  [
    new HumanMessage("What is the weather?"),
    new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
    new HumanMessage("Are you there?"),
  ],
  "openai",
);
console.log(violations.map(({ rule, index }) => `${rule} at ${index}`)); // [ 'missing-result at 1' ]
