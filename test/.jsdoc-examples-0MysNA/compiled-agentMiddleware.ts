import { agentMiddleware, createAgentGraph } from "langgraph-tether";

const guardrail = agentMiddleware(async function guardrail(context, next) {
  const question = context.messages.at(-1)?.text ?? "";
  if (/password/i.test(question)) context.result = "I do not talk about passwords.";
  else await next();
});
const agent = createAgentGraph({ model: "offline:", middleware: [guardrail] });
const { messages } = await agent.invoke({ messages: [{ role: "user", content: "The password?" }] });
console.log(messages.at(-1)?.text); // I do not talk about passwords.
