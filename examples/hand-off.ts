/**
 * Two agents under a supervisor of `@langchain/langgraph-supervisor`, which hands the conversation to one of them.
 *
 *     npm install @langchain/langgraph-supervisor
 *     npx tsx examples/hand-off.ts
 */

import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createSupervisor } from "@langchain/langgraph-supervisor";
import { createAgentGraph, createModel } from "langgraph-tether";
import { z } from "zod";

const model = process.env["MODEL"] ?? "offline:";
const weather = tool(({ city }) => `${city}: 18 °C`, {
  name: "weather",
  description: "Tells the current weather in a city.",
  schema: z.object({ city: z.string() }),
});

// The supervisor knows its agents by name.
const forecaster = createAgentGraph({ model, tools: [weather], name: "forecaster" });
const poet = createAgentGraph({ model, systemPrompt: "You are a poet.", name: "poet" });
const team = createSupervisor({
  agents: [forecaster, poet],
  llm: await createModel(model),
  // The agents get the conversation without the calls of the supervisor.
  addHandoffMessages: false,
  addHandoffBackMessages: true,
  prompt: "Ask the forecaster about the weather, and the poet for poems.",
}).compile({ checkpointer: new MemorySaver() });

const { messages } = await team.invoke(
  {
    messages: [
      {
        role: "user",
        content: process.argv[2] ?? 'call transfer_to_forecaster {} and call weather {"city": "Paris"}',
      },
    ],
  },
  { configurable: { thread_id: "1" } },
);
for (const { type, name, text } of messages) console.log(`${name ?? type}: ${text}`);
