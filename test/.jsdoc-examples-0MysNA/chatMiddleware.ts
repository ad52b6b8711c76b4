import { SystemMessage } from "@langchain/core/messages";
import { chatMiddleware, createAgentGraph } from "langgraph-tether";

const instruct = chatMiddleware(async function instruct(context, next) {
  context.messages.push(new SystemMessage("The user is in Rome."));
  console.log(context.messages.map(({ type }) => type).join(" ")); // human system
  await next();
});
const agent = createAgentGraph({ model: "offline:", middleware: [instruct] });
await agent.invoke({ messages: [{ role: "user", content: "Hello" }] });
