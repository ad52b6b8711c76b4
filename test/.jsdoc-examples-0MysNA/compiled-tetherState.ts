import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { createModel } from "langgraph-tether";
import { tetherMiddleware, tetherState } from "langgraph-tether/langchain";

const agent = createAgent({
  model: await createModel("offline:"),
  stateSchema: tetherState({ delta: true }),
  middleware: [tetherMiddleware()],
  checkpointer: new MemorySaver(),
});
const { messages } = await agent.invoke(
  { messages: [{ role: "user", content: "Hello!" }] },
  { configurable: { thread_id: "1" } },
);
console.log(messages.map((message) => message.type)); // [ 'human', 'ai' ]
