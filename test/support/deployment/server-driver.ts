/** Threads of the served agents of a deployment. */

import { setTimeout as delay } from "node:timers/promises";
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { Client } from "@langchain/langgraph-sdk";
import type { AgentName } from "./agents.js";
import type { Driver } from "./driver.js";
import { type WorkCall, workText } from "./strict-worker.js";

export async function driveServer(client: Client, agent: AgentName): Promise<Driver> {
  const { thread_id: threadId } = await client.threads.create({ graphId: agent });
  const input = (content: string) => ({ messages: [{ role: "user", content }] });
  const say = async (content: string): Promise<unknown> => {
    const run = await client.runs.create(threadId, agent, { input: input(content) });
    await client.runs.join(threadId, run.run_id).catch(() => {});
    const { status } = await client.runs.get(threadId, run.run_id);
    return status === "error" ? new Error(`A run of ${threadId} failed.`) : undefined;
  };
  const begin = async (calls: readonly WorkCall[], finished: number): Promise<string> => {
    const { run_id } = await client.runs.create(threadId, agent, { input: input(workText(calls)) });
    for (;;) {
      const { values, next } = await client.threads.getState<{ messages?: { type: string }[] }>(threadId);
      const messages = values.messages ?? [];
      const asked = messages.findLastIndex(({ type }) => type === "human");
      const [response, ...results] = messages.slice(asked + 1);
      if (next.includes("tools") && response !== undefined && results.length >= finished) return run_id;
      await delay(20);
    }
  };
  const cancel = async (calls: readonly WorkCall[], finished: number): Promise<void> => {
    await client.runs.cancel(threadId, await begin(calls, finished), true, "interrupt");
    while ((await client.threads.get(threadId)).status === "busy") await delay(20);
  };
  return {
    agent,
    threadId,
    say,
    work: (calls) => say(workText(calls)),
    cancel,
    die: cancel,
    leaveBusy: async (calls) => void (await begin(calls, 1)),
    read: async () => {
      const { values } = await client.threads.getState<{ messages?: BaseMessage[] }>(threadId);
      return (values.messages ?? []).map((message) => coerceMessageLikeToMessage(message));
    },
    edit: async (messages, asNode) => {
      const values = { messages: messages.map(toPlain) };
      await client.threads.updateState(threadId, { values, ...(asNode !== undefined && { asNode }) });
    },
  };
}

/** A message as clients send it. */
function toPlain(message: object): object {
  if (!("toDict" in message)) return message;
  const { type, data } = (message as BaseMessage).toDict();
  return { ...data, type };
}
