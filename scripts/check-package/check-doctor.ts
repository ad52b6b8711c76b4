import { checkProgram } from "./check-types.js";
import type { Consumer } from "./install-consumer.js";
import { runProgram } from "./run-example.js";

const EXAMPLE = `
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { diagnoseThread, type ThreadReport, threadOfList } from "langgraph-tether/doctor";
const report: ThreadReport = diagnoseThread(threadOfList([
  new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
  new HumanMessage("Are you there?"),
]));
console.log(report.findings.map(({ code }) => code).join(" "));
`;

/** Runs and type-checks a program that reads a broken list. */
export async function checkDoctor(consumer: Consumer): Promise<string> {
  for (const format of ["esm", "cjs"] as const)
    await runProgram(consumer, "doctor", format, EXAMPLE, ["pairing/dangling-call"]);
  return `imported and required; ${await checkProgram(consumer, "doctor", EXAMPLE)}`;
}
