import { MemorySaver } from "@langchain/langgraph";
import { createAgentGraph, messageSerializer } from "langgraph-tether";

const checkpointer = new MemorySaver(messageSerializer());
const agent = createAgentGraph({ model: "offline:", checkpointer });
const thread = { configurable: { thread_id: "1" } };
await agent.invoke({ messages: [{ role: "user", content: "Hello" }] }, thread);
const { values } = await agent.getState(thread);
console.log(values.messages.length); // 2
