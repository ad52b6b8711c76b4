import { MemorySaver } from "@langchain/langgraph";
import { createAgentGraph } from "langgraph-tether";
import { readThread } from "langgraph-tether/doctor";

const graph = await createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "1" } };
await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
console.log((await readThread({ graph, config })).status); // idle
