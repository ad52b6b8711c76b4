import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { explain } from "langgraph-tether/doctor";

const { reasons } = explain(
  [
    new HumanMessage("What is the weather?"),
    new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
    new HumanMessage("Are you there?"),
  ],
  { dialect: "anthropic" },
);
console.log(reasons.map(({ code, callIds }) => `${code} ${callIds}`)); // [ 'pairing/dangling-call c1' ]
