/** A thread of an agent, as seen by a client that reads only the stream. */

import type { BaseMessage } from "@langchain/core/messages";
import type { createAgentGraph } from "../../src/index.js";
import type { AgentEvent } from "../../src/threads/events.js";
import { PlainClient } from "./stream-faults.js";
import { pairedMessagesOf, user } from "./thread.js";

export interface ClientRun {
  /** The messages that the client has in the end. */
  readonly messages: readonly BaseMessage[];
  readonly events: readonly AgentEvent[];
  /** The chunks that it got. */
  readonly parts: readonly BaseMessage[];
  /** The error of a failed run. */
  readonly error: unknown;
}

/** One run, whose stream has the modes `messages` and `custom`. It does not reject if the run fails. */
export async function clientRun(start: () => Promise<AsyncIterable<unknown>>): Promise<ClientRun> {
  const client = new PlainClient();
  const events: AgentEvent[] = [];
  const parts: BaseMessage[] = [];
  let error: unknown;
  try {
    for await (const [mode, data] of (await start()) as AsyncIterable<[string, unknown]>) {
      if (mode === "custom") events.push(data as AgentEvent);
      else {
        const [message] = data as [BaseMessage];
        parts.push(message);
        client.add(message);
      }
    }
  } catch (reason) {
    error = reason;
  }
  return { messages: client.messages, events, parts, error };
}

/**
 * @param graph A graph with a checkpointer.
 * @param more Further fields of the config of each run.
 */
export function openThread(graph: ReturnType<typeof createAgentGraph>, threadId = "1", more: object = {}) {
  const config = { configurable: { thread_id: threadId }, ...more };
  return {
    graph,
    read: async (): Promise<BaseMessage[]> => pairedMessagesOf((await graph.getState(config)).values),
    /** One run. A text is a message of the user. It does not reject if the run fails. */
    send: (input: unknown, signal?: AbortSignal): Promise<ClientRun> => {
      const given = typeof input === "string" ? user(input) : (input as null);
      const streamMode: ["messages", "custom"] = ["messages", "custom"];
      return clientRun(() => graph.stream(given, { ...config, streamMode, ...(signal && { signal }) }));
    },
  };
}
