import { MemorySaver } from "@langchain/langgraph";
import { createAgentGraph } from "langgraph-tether";
import { createGraphStore, diagnoseThread } from "langgraph-tether/doctor";

const graph = await createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "1" } };
await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
const store = createGraphStore({ graph });
for await (const ref of store.threads({})) {
  const { outcome } = diagnoseThread(await store.read(ref));
  console.log(ref.threadId, outcome); // 1 sound
}
