/**
 * Sends turns to a development server on many threads at once, and prints how long a client waits for the first
 * token and how many runs end in a second, beside a plain `StateGraph` with the same model on the same server. Run it
 * with `npx tsx bench/served-load.ts`.
 *
 * A development server does ten runs at once. With more threads, a run waits for its place, so what the first token
 * then takes is mostly this wait.
 */

import { fileURLToPath } from "node:url";
import { startDevServer } from "../scripts/dev-server.js";

const THREADS = [1, 20, 100];
/** Of all threads together. */
const RUNS = 200;
const FEWEST_TURNS = 3;
const GRAPHS = ["plain", "tether"] as const;

const config = fileURLToPath(new URL("served/langgraph.json", import.meta.url));
const server = await startDevServer({ config });
const { client } = server;

const percentile = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);

/** One turn. Returns the time to the first token, in milliseconds. */
async function send(threadId: string, graph: string): Promise<number> {
  const start = performance.now();
  let first: number | undefined;
  const stream = client.runs.stream(threadId, graph, {
    input: { messages: [{ role: "user", content: "Say something." }] },
    streamMode: "messages-tuple",
  });
  for await (const { event, data } of stream) {
    if (event === "error") throw new Error(JSON.stringify(data));
    if (event === "messages" && Reflect.get(Object(data)[0], "type") !== "human")
      first ??= performance.now() - start;
  }
  if (first === undefined) throw new Error("Expected a token.");
  return first;
}

async function measure(graph: string, threads: number) {
  const turns = Math.max(FEWEST_TURNS, Math.round(Math.min(RUNS, threads * 20) / threads));
  const times: number[] = [];
  const ids = await Promise.all(
    Array.from({ length: threads }, async () => (await client.threads.create()).thread_id),
  );
  const start = performance.now();
  await Promise.all(
    ids.map(async (id) => {
      for (let turn = 0; turn < turns; turn += 1) times.push(await send(id, graph));
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  for (const id of ids) await client.threads.delete(id);
  const sorted = times.sort((a, b) => a - b);
  return {
    graph,
    threads,
    runs: times.length,
    "first token, median ms": percentile(sorted, 0.5),
    "first token, 95 % ms": percentile(sorted, 0.95),
    "runs a second": Number((times.length / seconds).toFixed(1)),
  };
}

try {
  // Once, so that the graphs are loaded and their code is compiled.
  for (const graph of GRAPHS) await measure(graph, 5);
  const rows: Awaited<ReturnType<typeof measure>>[] = [];
  for (const threads of THREADS) {
    for (const graph of GRAPHS) rows.push(await measure(graph, threads));
  }
  console.table(rows);
} finally {
  await server.stop();
}
