/**
 * Runs on a development server, on one thread and on many at once: how long a client waits for the first token, and
 * how many runs end in a second. A development server does ten runs at once. With more threads a run waits for its
 * place, and most of the time to its first token is this wait.
 */

import { fileURLToPath } from "node:url";
import type { Client } from "@langchain/langgraph-sdk";
import { build } from "esbuild";
import { startDevServer } from "../../scripts/dev-server.js";
import { CREATE_AGENT, OURS, STATE_GRAPH } from "../contenders.js";
import { type CaseSpec, measureRounds, median, type Suite } from "../suite.js";

/** How many threads there are, and how many runs each has in a round. */
const THREADS = { 1: 20, 20: 3, 100: 1 } as const;
const GRAPHS = { [OURS]: "tether", [CREATE_AGENT]: "agent", [STATE_GRAPH]: "plain" };
const FOLDER = new URL("../served/", import.meta.url);
const CONFIG = fileURLToPath(new URL("langgraph.json", FOLDER));

/**
 * Compiles the graphs and the library, as users have it. The server would compile TypeScript itself, and then each
 * function gets a name whenever it is made.
 */
async function compileGraphs(): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL("graphs.ts", FOLDER))],
    outdir: fileURLToPath(new URL("dist", FOLDER)),
    bundle: true,
    packages: "external",
    format: "esm",
    target: "es2023",
  });
}

/** One run. Returns the time to the first token, in milliseconds. */
async function send(client: Client, threadId: string, graph: string): Promise<number> {
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

async function measure(client: Client, graph: string, threads: number, runs: number) {
  const ids = await Promise.all(
    Array.from({ length: threads }, async () => (await client.threads.create()).thread_id),
  );
  const times: number[] = [];
  const start = performance.now();
  await Promise.all(
    ids.map(async (id) => {
      for (let run = 0; run < runs; run += 1) times.push(await send(client, id, graph));
    }),
  );
  const seconds = (performance.now() - start) / 1_000;
  // The server writes all threads to a file now and then.
  for (const id of ids) await client.threads.delete(id);
  return { firstToken: median(times), rate: times.length / seconds };
}

/** Two cases whose numbers come from the same runs. The first of them plays the runs of the round. */
function casesOf(client: Client, threads: number, runs: number): CaseSpec[] {
  const measured = new Map<string, { readonly firstToken: number; readonly rate: number }>();
  const where = threads === 1 ? "one thread" : `${threads} threads at once`;
  const contenders = (run: (name: string, graph: string) => number | Promise<number>) =>
    Object.fromEntries(Object.entries(GRAPHS).map(([name, graph]) => [name, () => run(name, graph)]));
  return [
    {
      id: `first-token/${threads}`,
      title: `A server's first token, ${where}`,
      unit: "ms",
      base: CREATE_AGENT,
      contenders: contenders(async (name, graph) => {
        const outcome = await measure(client, graph, threads, runs);
        measured.set(name, outcome);
        return outcome.firstToken;
      }),
    },
    {
      id: `rate/${threads}`,
      title: `A server's runs in a second, ${where}`,
      unit: "runs/s",
      isMoreBetter: true,
      base: CREATE_AGENT,
      contenders: contenders((name) => measured.get(name)?.rate ?? Number.NaN),
    },
  ];
}

export const served: Suite = {
  name: "served",
  measure: async (conditions) => {
    await compileGraphs();
    const server = await startDevServer({ config: CONFIG });
    try {
      const cases = Object.entries(THREADS).flatMap(([threads, runs]) =>
        casesOf(server.client, Number(threads), conditions.isQuick ? 1 : runs),
      );
      return await measureRounds(cases, { ...conditions, rounds: 5 });
    } finally {
      await server.stop();
    }
  },
};
