import { checkProgram } from "./check-types.js";
import type { Consumer } from "./install-consumer.js";
import { runProgram } from "./run-example.js";

const EXAMPLE = `
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createGraphStore } from "langgraph-tether/doctor";
import { createInspector } from "langgraph-tether/inspector";
const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", () => ({ messages: [{ role: "assistant", content: "Sunny." }] }))
  .addEdge("__start__", "model")
  .compile({ checkpointer: new MemorySaver() });
await graph.invoke({ messages: [{ role: "user", content: "How is it?" }] }, { configurable: { thread_id: "t1" } });
const inspector = createInspector({ threads: () => createGraphStore({ graph }), isProtected: true });
const response = await inspector(new Request("http://localhost/tether/threads/t1"));
console.log(response.status, (await response.text()).includes("Sunny."));
`;

/** Runs and type-checks a program that shows a thread. */
export async function checkInspector(consumer: Consumer): Promise<string> {
  for (const format of ["esm", "cjs"] as const)
    await runProgram(consumer, "inspector", format, EXAMPLE, ["200 true"]);
  return `imported and required; ${await checkProgram(consumer, "inspector", EXAMPLE)}`;
}
