/** A process that takes jobs from a table and runs an agent for each of them, until it gets SIGTERM. */

import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { GraphDrained, RunControl } from "@langchain/langgraph";
import { type FleetEntry, openAgent, textOf, type WorkerOrder } from "./agent.js";
import { type Job, JobTable } from "./job-table.js";

const POLL_MS = 20;
const RETRY_MS = 200;

async function work(order: WorkerOrder): Promise<void> {
  const note = (entry: FleetEntry) => appendFileSync(order.ledger, `${JSON.stringify(entry)}\n`);
  const { agent, pool, close } = openAgent(order, note);
  const table = new JobTable(pool);
  const control = new RunControl();
  process.once("SIGTERM", () => control.requestDrain("SIGTERM"));
  const running = new Map<Job, { readonly abort: AbortController; readonly ended: Promise<void> }>();
  let count = 0;

  const run = async ({ id, thread }: Job, attempt: string, signal: AbortSignal): Promise<void> => {
    try {
      const input = { messages: [{ role: "user", id: textOf(id), content: textOf(id) }] };
      await agent.invoke(input, { configurable: { thread_id: thread }, control, signal });
      await untilAnswered(() => table.finish(id, attempt));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const kind = signal.aborted
        ? "aborted"
        : error instanceof GraphDrained
          ? "drained"
          : Reflect.get(Object(error), "code") === "THREAD_MOVED"
            ? "refused"
            : "failed";
      note({ kind, job: id, text });
      if (kind === "failed") await delay(RETRY_MS);
      await untilAnswered(() => table.giveBack(attempt));
    }
  };
  const abortCancelled = async (): Promise<void> => {
    const cancelled = await table.readCancelled();
    for (const [{ id }, { abort }] of running) if (cancelled.has(id)) abort.abort();
  };

  while (!control.drainRequested) {
    await untilAnswered(abortCancelled);
    for (let isThere = true; isThere && running.size < order.atOnce && !control.drainRequested; ) {
      count += 1;
      const attempt = `${order.name}.${count}.`;
      const job = await untilAnswered(async () => {
        // It can have the job of a claim whose answer was lost.
        await table.giveBack(attempt);
        return table.claim(attempt);
      });
      isThere = job !== undefined;
      if (job === undefined) continue;
      const abort = new AbortController();
      const ended = run(job, attempt, abort.signal).finally(() => running.delete(job));
      running.set(job, { abort, ended });
    }
    await delay(POLL_MS);
  }
  await Promise.all([...running.values()].map(({ ended }) => ended));
  await close();
  process.disconnect();
}

/** Asks a database again that was away for a moment. */
async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await delay(RETRY_MS);
    }
  }
}

// Nobody would end it after its parent.
process.once("disconnect", () => process.exit());
process.once("message", (order: WorkerOrder) => void work(order));
process.send?.("ready");
