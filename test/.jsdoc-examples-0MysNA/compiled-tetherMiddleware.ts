import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import { createModel } from "langgraph-tether";
import { tetherMiddleware } from "langgraph-tether/langchain";

const agent = createAgent({ model: await createModel("offline:"), middleware: [tetherMiddleware()] });
const { messages } = await agent.invoke({
  messages: [
    new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
    new HumanMessage("Are you there?"),
  ],
});
console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human', 'ai' ]
