/** `docs/serving.md` shows how an instance stops a run that goes on in another one. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { DATABASE_URL } from "../support/savers.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");

/** The reader's own agent. Its tool waits until its run is stopped. */
const AGENT = `
import { once } from "node:events";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgentGraph } from "langgraph-tether";
import { z } from "zod";

export let started = () => {};
export const hasStarted = new Promise((resolve) => { started = resolve; });
const wait = tool(
  async (_, { signal }) => {
    started();
    await once(signal, "abort");
    return "stopped";
  },
  { name: "wait", description: "Waits.", schema: z.object({}) },
);
export const graph = createAgentGraph({ model: "offline:", tools: [wait], checkpointer: new MemorySaver() });
`;

it.runIf(DATABASE_URL !== undefined)("a run is stopped by another instance, and others go on", async () => {
  const documents = readFileSync(join(ROOT, "docs/serving.md"), "utf8");
  const recipe = /```ts\n\/\/ runs\.ts\n([\s\S]*?)```/.exec(documents)?.[1] ?? "";
  const folder = mkdtempSync(join(ROOT, "test/.stop-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "agent.ts"), AGENT);
  writeFileSync(join(folder, "runs.ts"), recipe);
  const { hasStarted, graph } = await import(/* @vite-ignore */ join(folder, "agent.ts"));
  const { listen, run, stop } = await import(/* @vite-ignore */ join(folder, "runs.ts"));

  const listener: pg.Client = await listen(DATABASE_URL);
  onTestFinished(() => listener.end());
  const other = new pg.Pool({ connectionString: DATABASE_URL });
  onTestFinished(() => other.end());

  const stopped = run("it's 1", "call wait");
  const settled = stopped.then(
    () => "ended",
    (error: Error) => error.name,
  );
  await hasStarted;
  await stop(other, "another thread");
  await stop(other, "it's 1");
  expect(await settled).toBe("AbortError");
  const { messages } = await run("it's 1", "Are you there?");
  expect(messages.map(({ type }: { type: string }) => type)).toEqual(["human", "ai", "tool", "human", "ai"]);
  expect((await graph.getState({ configurable: { thread_id: "it's 1" } })).next).toEqual([]);

  // A notification that nobody hears is lost, so it is sent until somebody does.
  await other.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where query = 'LISTEN stop_thread'",
  );
  let isStopped = false;
  const second = run("2", "call wait").catch(() => {
    isStopped = true;
  });
  await expect.poll(() => stop(other, "2").then(() => isStopped)).toBe(true);
  await second;
});
