/** A thread of an agent, as a client sees it that reads nothing but the stream. */

import type { BaseMessage } from "@langchain/core/messages";
import type { createAgentGraph } from "../../src/index.js";
import type { AgentEvent } from "../../src/nodes/run/agent-event.js";
import { PlainClient } from "./stream-faults.js";
import { pairedMessagesOf, user } from "./thread.js";

export interface ClientRun {
  /** What the client has in the end. */
  readonly messages: readonly BaseMessage[];
  readonly events: readonly AgentEvent[];
  /** What it was sent. */
  readonly parts: readonly BaseMessage[];
  /** What the run ended with, if it failed. */
  readonly error: unknown;
}

/** @param graph With a checkpointer. */
export function openThread(graph: ReturnType<typeof createAgentGraph>, threadId = "1") {
  const config = { configurable: { thread_id: threadId } };
  return {
    graph,
    read: async (): Promise<BaseMessage[]> => pairedMessagesOf((await graph.getState(config)).values),
    /** One run, which may fail. */
    send: async (text: string, signal?: AbortSignal): Promise<ClientRun> => {
      const client = new PlainClient();
      const events: AgentEvent[] = [];
      const parts: BaseMessage[] = [];
      let error: unknown;
      try {
        const stream = await graph.stream(user(text), {
          ...config,
          streamMode: ["messages", "custom"],
          ...(signal && { signal }),
        });
        for await (const [mode, data] of stream) {
          if (mode === "custom") events.push(data as AgentEvent);
          else {
            const [message] = data as unknown as [BaseMessage];
            parts.push(message);
            client.add(message);
          }
        }
      } catch (reason) {
        error = reason;
      }
      return { messages: client.messages, events, parts, error };
    },
  };
}
