/**
 * An agent of LangChain's `createAgent` whose run is cancelled in the middle of a batch. The next message, sent at once,
 * recovers what the finished tool had returned. The threads are kept in memory, or in the PostgreSQL database of
 * `DATABASE_URL`, with any durability:
 *
 *     npx tsx examples/create-agent.ts
 *     DATABASE_URL=postgresql://localhost/postgres DURABILITY=exit npx tsx examples/create-agent.ts
 */

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
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

const { DATABASE_URL, DURABILITY = "async" } = process.env;
const database = DATABASE_URL === undefined ? undefined : PostgresSaver.fromConnString(DATABASE_URL);
await database?.setup();

const agent = createAgent({
  model: await createModel(process.env["MODEL"] ?? "offline:"),
  tools: [sky, wait],
  checkpointer: database ?? new MemorySaver(),
  middleware: [tetherMiddleware()],
});
const thread = {
  configurable: { thread_id: randomUUID() },
  durability: DURABILITY as "async" | "exit" | "sync",
};
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
await database?.end();
