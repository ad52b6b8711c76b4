/**
 * An agent over HTTP. Threads are kept in SQLite, and each run is streamed as server-sent events.
 *
 *     npx tsx examples/http-server.ts
 *     curl -N http://127.0.0.1:8000/threads/1 -d 'call sky {"city": "Paris"} and call wait {"seconds": 60}'
 */

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgentGraph } from "langgraph-tether";
import { z } from "zod";

const sky = tool(async ({ city }) => `${city}: clear sky`, {
  name: "sky",
  description: "Looks at the sky over a city.",
  schema: z.object({ city: z.string() }),
});
const wait = tool(({ seconds }, { signal }) => delay(seconds * 1000, `waited ${seconds} s`, { signal }), {
  name: "wait",
  description: "Waits. The signal ends the wait when the client hangs up.",
  schema: z.object({ seconds: z.number() }),
});
const checkpointer = SqliteSaver.fromConnString(process.env["DATABASE"] ?? "threads.sqlite");
const agent = createAgentGraph({
  model: process.env["MODEL"] ?? "offline:",
  tools: [sky, wait],
  checkpointer,
});
/** Aborts when the server is to stop. */
const stop = new AbortController();

const server = createServer(async (request, response) => {
  const thread_id = /^\/threads\/([\w-]+)$/.exec(request.url ?? "")?.[1];
  if (request.method !== "POST" || thread_id === undefined) {
    response.writeHead(404).end();
    return;
  }
  const hangUp = new AbortController();
  response.on("close", () => hangUp.abort());
  const send = (event: string, data: object) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  try {
    const input = { messages: [{ role: "user", content: await text(request) }] };
    const signal = AbortSignal.any([hangUp.signal, stop.signal]);
    const options = { configurable: { thread_id }, signal };
    // If a run of the thread goes on, this one waits for its end.
    const chunks = await agent.stream(input, { ...options, streamMode: ["messages", "custom"] });
    for await (const [mode, chunk] of chunks) {
      if (mode === "custom") send(chunk.type, chunk);
      else send(chunk[0].type, describe(chunk[0]));
    }
    send("end", {});
  } catch (error) {
    send("error", { message: error instanceof Error ? error.message : String(error) });
  }
  response.end();
});

/** A piece of a response, a tool result, or the removal of a message. A client keeps one message for each id. */
function describe(message: BaseMessage) {
  const { id, name, text } = message;
  if (AIMessageChunk.isInstance(message)) return { id, text, calls: message.tool_call_chunks };
  if (ToolMessage.isInstance(message)) return { id, name, text, status: message.status };
  return { id, text };
}

// An aborted run ends when its last results are saved. Its thread goes on after the next start.
process.once("SIGTERM", () => {
  stop.abort();
  server.close(() => checkpointer.db.close());
});

server.listen(Number(process.env["PORT"] ?? 8000), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}`);
});
