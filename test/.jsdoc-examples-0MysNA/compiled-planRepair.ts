import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { planRepair, threadOfList } from "langgraph-tether/doctor";

const plan = planRepair(
  threadOfList([
    new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
    new HumanMessage({ id: "b", content: "Are you there?" }),
  ]),
);
console.log(plan.kind === "write" && plan.steps.map(({ kind, callId }) => `${kind} ${callId}`)); // [ 'close c1' ]
