import { tool } from "@langchain/core/tools";
import { createAgentGraph, functionMiddleware, MiddlewareTermination } from "langgraph-tether";
import { z } from "zod";

const sky = tool(async () => "clear", { name: "sky", description: "Looks up.", schema: z.object({}) });
const quota = functionMiddleware(async function quota() {
  throw new MiddlewareTermination("The quota is used up.");
});
const agent = createAgentGraph({ model: "offline:", tools: [sky], middleware: [quota] });
const { messages } = await agent.invoke({ messages: [{ role: "user", content: "call sky" }] });
console.log(messages.at(-1)?.text); // The quota is used up.
