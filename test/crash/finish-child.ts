/** A process that leaves threads unfinished when it dies, or that lists and finishes those of another one. */

import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import pg from "pg";
import { z } from "zod";
import {
  type FinishOutcome,
  finishThreads,
  type UnfinishedThread,
  unfinishedThreads,
} from "../../src/doctor.js";
import { createAgentGraph, postgresThreadLock } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { calls, FunctionModel } from "../support/models.js";
import { connect } from "./connect.js";
import type { FinishJob, FinishReport, Place } from "./finish-job.js";

async function work(job: FinishJob): Promise<void> {
  const { database, ledger, task, threads } = job;
  const { saver, close } = await connect(database, "all");
  const pool =
    database.kind === "postgres" ? new pg.Pool({ connectionString: database.url, max: 40 }) : undefined;
  const lock = pool && postgresThreadLock(pool);
  const goOn = task === "hold" ? once(process, "message").then(() => {}) : new Promise<never>(() => {});
  const isCut = task !== "finish";
  const arrivals = new Map<string, () => void>();
  const arrive = (threadId: string) => arrivals.get(threadId)?.();
  const placeOf = new Map(threads);

  const schema = z.object({ key: z.string() });
  const pay = tool(
    async ({ key }) => {
      appendFileSync(ledger, `${key}\n`);
      const [threadId = ""] = key.split(":");
      if (isCut && placeOf.get(threadId) === "tool") {
        arrive(threadId);
        await goOn;
      }
      // A write that never ends would hold up what comes after it.
      if (isCut && placeOf.get(threadId) === "unsaved")
        while (!(await isSaved(threadId, "unsaved"))) await delay(5);
      return `paid ${key}`;
    },
    { name: "pay", description: "Pays.", schema },
  );
  const look = tool(async ({ key }) => `seen ${key}`, { name: "look", description: "Looks.", schema });
  const send = tool(async ({ key }) => `sent ${key}`, { name: "send", description: "Sends.", schema });
  const model = new FunctionModel(async ({ messages }) => {
    const last = messages.at(-1);
    const [threadId = "", place] = last?.type === "human" ? last.text.split(" ") : [];
    if (isCut && place === "model") {
      arrive(threadId);
      await goOn;
    }
    const key = `${threadId}:${last?.id}`;
    if (place === "approval") return calls(["send", { key }]);
    if (place === undefined || place === "finished") return new AIMessage("Done.");
    return calls(["pay", { key }], ["look", { key }]);
  });
  const asks = humanInTheLoopMiddleware({ interruptOn: { send: true } } as never);
  const parts = { model, tools: [pay, look, send], checkpointer: cutSaver(saver) };
  const agent =
    job.kind === "createAgentGraph"
      ? createAgentGraph({ ...parts, requireApproval: ["send"], ...(lock && { concurrentRuns: lock }) })
      : createAgent({
          ...parts,
          middleware: [asks as never, tetherMiddleware()],
        });
  const ownLock = job.kind === "createAgent" ? lock : undefined;

  /** Some writes of a thread never come to their end. */
  function cutSaver(whole: BaseCheckpointSaver): BaseCheckpointSaver {
    if (task !== "die") return whole;
    const cut = new Set<string>();
    return Object.assign(Object.create(whole), {
      put: async (...given: Parameters<BaseCheckpointSaver["put"]>) => {
        if (cut.has(String(given[0].configurable?.["thread_id"]))) await goOn;
        return whole.put(...given);
      },
      putWrites: async (...[config, writes, taskId]: Parameters<BaseCheckpointSaver["putWrites"]>) => {
        const threadId = String(config.configurable?.["thread_id"]);
        const place = placeOf.get(threadId);
        const isOf = (name: string, text: string) =>
          writes.some(([channel, value]) => channel === name && JSON.stringify(value).includes(text));
        if (
          (place === "unsaved" && isOf("messages", "paid")) ||
          (place === "not-started" && isOf("tether:diary", "start"))
        ) {
          cut.add(threadId);
          arrive(threadId);
          await goOn;
        }
        return whole.putWrites(config, writes, taskId);
      },
    });
  }

  /** Whether the thread exists, and has the results that another process finds there. */
  async function isSaved(thread_id: string, place: Place): Promise<boolean> {
    const tuple = await saver.getTuple({ configurable: { thread_id } });
    const hasResult = place === "tool" || place === "unsaved";
    return tuple !== undefined && (!hasResult || JSON.stringify(tuple.pendingWrites).includes("seen "));
  }

  const invoke = agent.invoke as (input: unknown, config: object) => Promise<unknown>;
  async function run(threadId: string, place: Place): Promise<void> {
    const release = await ownLock?.acquire(threadId, new AbortController().signal);
    const message = { role: "user", id: `job-${threadId}`, content: `${threadId} ${place}` };
    await invoke.call(agent, { messages: [message] }, { configurable: { thread_id: threadId } });
    await release?.();
  }

  if (isCut) {
    const inPlace = threads.map(async ([threadId, place]) => {
      const arrived = new Promise<void>((resolve) => arrivals.set(threadId, resolve));
      const ended = run(threadId, place);
      if (task === "hold") running.push(ended);
      await Promise.race([arrived, ended]);
      while (!(await isSaved(threadId, place))) await delay(5);
    });
    await Promise.all(inPlace);
    if (task === "die") process.kill(process.pid, "SIGKILL");
    process.send?.("holding");
    await Promise.all(running);
  }

  const found: UnfinishedThread[] = [];
  const outcomes: FinishOutcome[] = [];
  if (task === "finish") {
    for await (const thread of unfinishedThreads(agent, { quietMs: job.quietMs })) found.push(thread);
    const options = { concurrency: job.concurrency, ...(ownLock && { lock: ownLock }) };
    for await (const outcome of finishThreads(agent, found, options)) outcomes.push(outcome);
  }
  const results: Record<string, string[]> = {};
  const graph = "graph" in agent ? agent.graph : agent;
  for (const [thread_id] of threads) {
    const { values } = await graph.getState({ configurable: { thread_id } });
    const all = values.messages as { type: string; text: string; additional_kwargs: object }[];
    results[thread_id] = all.flatMap(({ type, text, additional_kwargs }) =>
      type === "tool" ? String(Reflect.get(additional_kwargs, "tether_outcome") ?? text.split(" ")[0]) : [],
    );
  }
  process.send?.({ found, outcomes, results } satisfies FinishReport);
  await pool?.end();
  await close();
  process.disconnect();
}

const running: Promise<void>[] = [];
process.once("message", (job: FinishJob) => void work(job));
process.send?.("ready");
