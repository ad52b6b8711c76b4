import { checkProgram } from "./check-types.js";
import type { Consumer } from "./install-consumer.js";
import { runProgram } from "./run-example.js";

const EXAMPLE = `
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { diagnoseThread, type ThreadReport } from "langgraph-tether/doctor";
const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", () => ({}))
  .addEdge("__start__", "model")
  .compile({ checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "1" } };
const call = { id: "c1", name: "weather", args: {} };
await graph.updateState(config, {
  messages: [new AIMessage({ content: "", tool_calls: [call] }), new HumanMessage("Are you there?")],
});
const report: ThreadReport = await diagnoseThread({ graph, config });
console.log(report.findings.map(({ code }) => code).join(" "));
`;

/** Runs and type-checks a program that reads a broken thread. */
export async function checkDoctor(consumer: Consumer): Promise<string> {
  for (const format of ["esm", "cjs"] as const)
    await runProgram(consumer, "doctor", format, EXAMPLE, ["pairing/dangling-call"]);
  return `imported and required; ${await checkProgram(consumer, "doctor", EXAMPLE)}`;
}
