/**
 * A web route for serverless functions: any instance can get any request. The threads are in PostgreSQL, and the lock lets
 * one run of a thread go on at a time. Export `app` as your platform wants it, and call `createTables` when you deploy.
 */

import { setTimeout as delay } from "node:timers/promises";
import { tool } from "@langchain/core/tools";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { createAgentGraph, postgresThreadLock } from "langgraph-tether";
import pg from "pg";
import { z } from "zod";

const wait = tool(({ seconds }, { signal }) => delay(seconds * 1000, `waited ${seconds} s`, { signal }), {
  name: "wait",
  description: "Waits. The signal ends the wait when the client hangs up.",
  schema: z.object({ seconds: z.number() }),
});

/** A lost connection would end the process without these listeners. */
function openPool(max: number): pg.Pool {
  const connectionString = process.env["DATABASE_URL"];
  const pool = new pg.Pool({ connectionString, max, connectionTimeoutMillis: 10_000, keepAlive: true });
  pool.on("error", (error) => console.error(`PostgreSQL: ${error.message}`));
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

const checkpointer = new PostgresSaver(openPool(4));
export const createTables = () => checkpointer.setup();
const agent = createAgentGraph({
  model: process.env["MODEL"] ?? "offline:",
  tools: [wait],
  checkpointer,
  // Each run that goes on or waits in this instance has a connection of this pool.
  concurrentRuns: postgresThreadLock(openPool(10)),
});

/** The same id again is a retry: it finishes the turn, and adds nothing. */
const Message = z.object({ id: z.string(), content: z.string() });

export const app = new Hono().post("/threads/:thread/messages", async (context) => {
  // Check here who the user is, and whether the thread is theirs.
  const message = Message.safeParse(await context.req.json().catch(() => undefined));
  if (!message.success) return context.text(z.prettifyError(message.error), 400);
  const input = { messages: [{ role: "user", ...message.data }] };
  const thread_id = context.req.param("thread");
  return streamSSE(context, async (events) => {
    const hangUp = new AbortController();
    events.onAbort(() => hangUp.abort());
    // The run ends, and saves its results, before the platform ends the function, here after a minute.
    const signal = AbortSignal.any([hangUp.signal, AbortSignal.timeout(50_000)]);
    try {
      const run = await agent.stream(input, { configurable: { thread_id }, signal, streamMode: "messages" });
      for await (const [{ id, type, text }] of run)
        await events.writeSSE({ event: type, data: JSON.stringify({ id, text }) });
      await events.writeSSE({ event: "end", data: "" });
    } catch (error) {
      await events.writeSSE({ event: "error", data: String(error) });
    }
  });
});
