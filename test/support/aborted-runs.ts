/** Runs of a LangChain agent that are aborted, and messages that follow at once. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { turns } from "./async.js";
import type { Durability } from "./crashing-thread.js";
import { lines } from "./lines.js";
import { calls, FunctionModel } from "./models.js";
import { type AnyAgent, openAgentThread } from "./open-thread.js";
import { script, user } from "./thread.js";
import { createProbe } from "./tools.js";

const CLOSED =
  "tool! Tool call heedful (h): a new message came before it finished. It may or may not have taken effect.";
/** The thread after that message, if nothing is lost. */
export const WHOLE = lines(
  "human: Go. | ai> fast heedful | tool: fast done -",
  CLOSED,
  "human: Hello? | ai: Better now?",
);

/** Each write takes many turns of the event loop. */
export function slowly<Saver extends BaseCheckpointSaver>(saver: Saver): Saver {
  const { put, putWrites } = saver;
  return Object.assign(saver, {
    put: async (...given: Parameters<typeof put>) => {
      await turns();
      return put.apply(saver, given);
    },
    putWrites: async (...given: Parameters<typeof putWrites>) => {
      await turns();
      return putWrites.apply(saver, given);
    },
  });
}

export function openAbortable(checkpointer: BaseCheckpointSaver) {
  const probe = createProbe();
  const model = new FunctionModel(({ text }) =>
    text === "Go." ? calls(["fast", {}, "f"], ["heedful", {}, "h"]) : "Better now?",
  );
  const parts = { model, tools: [probe.fast, probe.heedful], middleware: [tetherMiddleware()] };
  const agent = createAgent({ ...parts, checkpointer } as never) as unknown as AnyAgent;
  return { probe, agent };
}

type Opened = ReturnType<typeof openAbortable>;

/** A run that is aborted when one call has finished and the other runs. It returns when the caller hears of it. */
async function abortRun({ agent, probe }: Opened, threadId: string, durability: Durability): Promise<void> {
  const begun = probe.runs.length;
  const ended = probe.ends.length;
  const controller = new AbortController();
  const { config } = openAgentThread(agent, threadId);
  const run = agent.invoke(user("Go.") as never, { ...config, signal: controller.signal, durability });
  run.catch(() => {});
  await probe.hasBegun(begun + 2);
  await expect.poll(() => probe.ends.length).toBe(ended + 1);
  controller.abort();
  await expect(run).rejects.toThrow(/abort/i);
}

/** What the thread of an aborted run has after a message that follows at once. */
export async function abortAndSend(opened: Opened, next: Opened, threadId: string, durability: Durability) {
  await abortRun(opened, threadId, durability);
  const thread = openAgentThread(next.agent, threadId);
  const { error } = await thread.run(user("Hello?"), { durability });
  expect(error).toBeUndefined();
  return script(await thread.read());
}
