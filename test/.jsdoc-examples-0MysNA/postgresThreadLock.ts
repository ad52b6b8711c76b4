import { MemorySaver } from "@langchain/langgraph";
import { createAgentGraph, type LockPool, postgresThreadLock } from "langgraph-tether";

// In your program: const pool = new Pool({ connectionString, max: 50 });
const client = { query: async () => {}, on: () => {}, removeListener: () => {}, release: () => {} };
const pool: LockPool = { connect: async () => client };

const agent = createAgentGraph({
  model: "offline:",
  checkpointer: new MemorySaver(),
  concurrentRuns: postgresThreadLock(pool),
});
const thread = { configurable: { thread_id: "1" } };
const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Hello" }] }, thread);
console.log(messages.length); // 2
