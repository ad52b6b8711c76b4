/**
 * An agent of LangChain's `createAgent` whose run is cancelled in the middle of a batch. The next message recovers what
 * the finished tool had returned.
 *
 *     npx tsx examples/create-agent.ts
 */

import { setTimeout as delay } from "node:timers/promises";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { createModel } from "langgraph-tether";
import { tetherMiddleware } from "langgraph-tether/langchain";
import { z } from "zod";

const stop = new AbortController();

const sky = tool(({ city }) => `${city}: clear sky`, {
  name: "sky",
  description: "Looks at the sky over a city.",
  schema: z.object({ city: z.string() }),
});
const wait = tool(({ seconds }, { signal }) => delay(seconds * 1000, `waited ${seconds} s`, { signal }), {
  name: "wait",
  description: "Waits. The signal ends the wait when the run is cancelled.",
  schema: z.object({ seconds: z.number() }),
});

const agent = createAgent({
  model: await createModel(process.env["MODEL"] ?? "offline:"),
  tools: [sky, wait],
  checkpointer: new MemorySaver(),
  middleware: [tetherMiddleware()],
});
const thread = { configurable: { thread_id: "1" } };
const input = { messages: 'call sky {"city": "Paris"} and call wait {"seconds": 600}' };

const chunks = await agent.stream(input, { ...thread, streamMode: "updates", signal: stop.signal });
try {
  // The finished tool has returned, and the other one still runs.
  for await (const update of chunks) if ("tools" in update) stop.abort();
} catch {
  console.log("(cancelled)");
}

const { messages } = await agent.invoke({ messages: "what did the tools return?" }, thread);
for (const { type, text } of messages) if (text !== "") console.log(`${type}: ${text}`);
