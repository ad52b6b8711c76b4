import { tool } from "@langchain/core/tools";
import { createAgentGraph, functionMiddleware } from "langgraph-tether";
import { z } from "zod";

const sky = tool(async () => "clear", { name: "sky", description: "Looks up.", schema: z.object({}) });
const audit = functionMiddleware(async function audit(context, next) {
  await next();
  console.log(`${context.call.name}: ${context.result?.status}`); // sky: success
});
const agent = createAgentGraph({ model: "offline:", tools: [sky], middleware: [audit] });
await agent.invoke({ messages: [{ role: "user", content: "call sky" }] });
