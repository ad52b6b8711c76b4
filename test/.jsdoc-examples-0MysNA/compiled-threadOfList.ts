import { ToolMessage } from "@langchain/core/messages";
import { diagnoseThread, threadOfList } from "langgraph-tether/doctor";

const { findings } = diagnoseThread(
  threadOfList([new ToolMessage({ tool_call_id: "c1", content: "18 °C" })]),
);
console.log(findings.map(({ code }) => code)); // [ 'pairing/orphan-result' ]
