import { tool } from "@langchain/core/tools";
import { createAgentGraph } from "langgraph-tether";
import { z } from "zod";

const weather = tool(({ city }) => `${city}: 18 °C`, {
  name: "weather",
  description: "Tells the current weather in a city.",
  schema: z.object({ city: z.string() }),
});
// "offline:" is a small model for trials; a real one is "openai:gpt-4o-mini".
const agent = createAgentGraph({ model: "offline:", tools: [weather] });
const { messages } = await agent.invoke({ messages: "What is the weather in Paris?" });
console.log(messages.map((message) => message.type)); // [ 'human', 'ai', 'tool', 'ai' ]
console.log(messages.at(-1)?.text); // Paris: 18 °C
