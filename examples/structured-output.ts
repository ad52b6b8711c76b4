/**
 * An agent that looks things up with a tool and then responds with an object of a given shape.
 *
 *     npx tsx examples/structured-output.ts
 *     MODEL=openai:gpt-4o-mini npx tsx examples/structured-output.ts "Do I need an umbrella in Oslo?"
 *
 * Without `MODEL` the offline model plays the model. It must be told each call.
 */

import { tool } from "@langchain/core/tools";
import { createAgentGraph, toolStrategy } from "langgraph-tether";
import { z } from "zod";

const weather = tool(async ({ city }) => `${city}: 18 °C, no rain`, {
  name: "weather",
  description: "Tells the current weather in a city.",
  schema: z.object({ city: z.string() }),
});

/** The title is the name that the model sees. */
const Report = z
  .object({
    city: z.string(),
    celsius: z.number().describe("The temperature"),
    umbrella: z.boolean().describe("Whether one needs an umbrella"),
  })
  .meta({ title: "Report", description: "The response to the user." });

const agent = createAgentGraph({
  model: process.env["MODEL"] ?? "offline:",
  tools: [weather],
  responseFormat: toolStrategy(Report),
});

const content =
  process.argv[2] ??
  'call weather {"city": "Oslo"} then call Report {"city": "Oslo", "celsius": 18, "umbrella": false}';
const { messages, structuredResponse } = await agent.invoke({ messages: [{ role: "user", content }] });

if (structuredResponse === undefined) {
  // A limit of the turn was reached before a response had this shape.
  console.log(`No report: ${messages.at(-1)?.text}`);
} else {
  const { city, celsius, umbrella } = structuredResponse;
  console.log(`${city}, ${celsius} °C: ${umbrella ? "take an umbrella" : "no umbrella needed"}`);
}
