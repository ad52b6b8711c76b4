import type { BaseMessage } from "@langchain/core/messages";
import { RemoteGraph } from "@langchain/langgraph/remote";
import type { Client } from "@langchain/langgraph-sdk";
import { readFullHistory } from "../../src/index.js";
import { ASK_FOR_MEMORY } from "../fixtures/soak/graph.js";
import { messagesOf, user } from "../support/thread.js";
import { failForMissing, type SoakHost, type SoakThread } from "./run-soak.js";

const GRAPH = "soak";

export function servedHost(client: Client): SoakHost {
  return {
    open: async () => openThread(client, (await client.threads.create()).thread_id),
    heap: async () => {
      const values = await client.runs.wait(null, GRAPH, { input: user(ASK_FOR_MEMORY) });
      return Number(messagesOf(values).at(-1)?.text);
    },
  };
}

function openThread(client: Client, threadId: string): SoakThread {
  const valuesAt = async (from?: string): Promise<object> =>
    Object(
      (from === undefined
        ? await client.threads.getState(threadId)
        : await client.threads.getState(threadId, from)
      ).values,
    );
  let hasFork = false;
  /**
   * Where a run begins. A development server begins every later run of a thread where its last fork began, so after a
   * fork a run names the latest checkpoint.
   */
  const begin = async (from?: string) => {
    if (from !== undefined) hasFork = true;
    const latest = hasFork ? (await client.threads.getState(threadId)).checkpoint.checkpoint_id : undefined;
    const checkpointId = from ?? latest;
    return typeof checkpointId === "string" ? { checkpointId } : {};
  };
  return {
    send: async (messages, from) => {
      await client.runs.wait(threadId, GRAPH, { input: { messages }, ...(await begin(from)) });
    },
    cancel: async (messages) => {
      let runId = "";
      const payload = { input: { messages }, streamMode: "updates", ...(await begin()) } as const;
      const stream = client.runs.stream(threadId, GRAPH, payload);
      for await (const { event, data } of stream) {
        if (event === "metadata") runId = Reflect.get(data, "run_id");
        if (event !== "updates" || !("tools" in data)) continue;
        await client.runs.cancel(threadId, runId, true);
        throw new Error("The run was cancelled.");
      }
    },
    update: async (messages) => {
      await client.threads.updateState(threadId, { values: { messages } });
    },
    read: async () => messagesOf(await valuesAt()),
    readAll: async (from): Promise<BaseMessage[]> =>
      readFullHistory(
        new RemoteGraph({ graphId: GRAPH, client }),
        { configurable: { thread_id: threadId, ...(from !== undefined && { checkpoint_id: from }) } },
        failForMissing,
      ),
    checkpoints: async () => {
      const states = await client.threads.getHistory(threadId, { limit: 40 });
      return states.flatMap(({ next, checkpoint }) =>
        next.length === 0 && checkpoint.checkpoint_id ? [checkpoint.checkpoint_id] : [],
      );
    },
    remove: async () => {
      await client.threads.delete(threadId);
    },
  };
}
