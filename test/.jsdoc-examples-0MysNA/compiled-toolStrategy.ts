import { createAgentGraph, toolStrategy } from "langgraph-tether";
import { z } from "zod";

const City = z.object({ name: z.string(), country: z.string() }).meta({ title: "City" });
const agent = createAgentGraph({ model: "offline:", responseFormat: toolStrategy(City) });
const { structuredResponse } = await agent.invoke({
  messages: 'call City {"name": "Oslo", "country": "Norway"}',
});
console.log(structuredResponse?.country); // Norway
