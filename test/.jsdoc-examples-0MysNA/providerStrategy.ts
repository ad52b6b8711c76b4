import { createAgentGraph, providerStrategy } from "langgraph-tether";
import { z } from "zod";

const City = z.object({ name: z.string(), country: z.string() });
// "offline:" is a small model for trials, and cannot do this; a real one is "openai:gpt-4o-mini".
const agent = createAgentGraph({ model: "offline:", responseFormat: providerStrategy(City) });
const { structuredResponse } = await agent.invoke({ messages: "What is the capital of Norway?" });
console.log(structuredResponse); // undefined
