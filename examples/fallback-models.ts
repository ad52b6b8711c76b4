/**
 * An agent that goes on with a model of another provider when the first provider is down.
 *
 *     OPENAI_API_KEY=… ANTHROPIC_API_KEY=… npx tsx examples/fallback-models.ts "How is the sky over Paris?"
 */

import { ChatAnthropic } from "@langchain/anthropic";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createAgentGraph } from "langgraph-tether";
import { z } from "zod";

const sky = tool(async ({ city }) => `${city}: clear sky`, {
  name: "sky",
  description: "Looks at the sky over a city.",
  schema: z.object({ city: z.string() }),
});

// With a model that waits to be asked, a client need not retry for long: each retry doubles its wait.
const agent = createAgentGraph({
  model: new ChatOpenAI({ model: "gpt-4o-mini", maxRetries: 1 }),
  fallbackModels: [
    new ChatAnthropic({
      model: "claude-sonnet-4-5",
      maxRetries: 1,
      ...(process.env["ANTHROPIC_BASE_URL"] && { anthropicApiUrl: process.env["ANTHROPIC_BASE_URL"] }),
    }),
  ],
  tools: [sky],
});

const input = { messages: [{ role: "user", content: process.argv[2] ?? "How is the sky over Paris?" }] };
for await (const [mode, chunk] of await agent.stream(input, { streamMode: ["values", "custom"] })) {
  if (mode === "custom") {
    if (chunk.type === "model-switched") console.log(`(${chunk.from} failed, so ${chunk.to} is asked)`);
    continue;
  }
  const last = chunk.messages.at(-1);
  if (last !== undefined && last.text !== "") console.log(`${last.type}: ${last.text}`);
}
