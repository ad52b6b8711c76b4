import { BrokenDoorError } from "./broken-door-error.js";
import { checkProgram } from "./check-types.js";
import type { Consumer } from "./install-consumer.js";
import { runProgram } from "./run-example.js";

const EXAMPLE = `
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import { createModel } from "langgraph-tether";
import { type TetherMiddlewareOptions, tetherMiddleware } from "langgraph-tether/langchain";
const options: TetherMiddlewareOptions = { dialect: "openai" };
const agent = createAgent({ model: await createModel("offline:"), tools: [], middleware: [tetherMiddleware(options)] });
const { messages } = await agent.invoke({ messages: [
  new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
  new HumanMessage("Are you there?"),
] });
console.log(messages.map((message: { type: string }) => message.type).join(" "));
`;

const WITHOUT = `
await import("langgraph-tether/langchain").then(
  () => console.log("it was imported"),
  (error) => console.log(error.message),
);
`;

/** Without the package `langchain`, only its own entry cannot be imported, and Node names the missing package. */
export async function checkWithoutLangChain(consumer: Consumer): Promise<string> {
  await consumer.write("without-langchain.mjs", WITHOUT);
  const [printed = ""] = await consumer.run("without-langchain.mjs");
  if (/package 'langchain'/.test(printed)) return "the error names the missing package";
  throw new BrokenDoorError(`the error should name the package \`langchain\`, it said: ${printed}`);
}

/** Runs and type-checks an agent of LangChain with the middleware. */
export async function checkLangChain(consumer: Consumer): Promise<string> {
  await consumer.install("langchain");
  for (const format of ["esm", "cjs"] as const)
    await runProgram(consumer, "langchain", format, EXAMPLE, ["ai tool human ai"]);
  return `imported and required; ${await checkProgram(consumer, "langchain", EXAMPLE)}`;
}
