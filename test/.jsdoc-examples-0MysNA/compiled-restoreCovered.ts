import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { createAgentGraph, restoreCovered } from "langgraph-tether";

const store = new InMemoryStore();
const agent = createAgentGraph({
  model: "offline:",
  checkpointer: new MemorySaver(),
  store,
  coveredMessages: "archive",
  maxMessagesBeforeSummary: 4,
  messagesToKeep: 2,
});
const config = { configurable: { thread_id: "1" } };
const content = "Tell me a long story. ".repeat(50);
for (let turn = 1; turn <= 3; turn += 1) {
  await agent.invoke({ messages: [{ role: "user", content }] }, config);
}
const { values } = await agent.getState(config);
await agent.updateState(config, { messages: await restoreCovered(store, "1", values) });
const restored = await agent.getState(config);
console.log(`${values.messages.length}, then ${restored.values.messages.length}`); // 4, then 6
