/** A thread of an agent of LangChain, as seen by a client that reads only the stream. */

import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, type ReactAgent } from "langchain";
import type { AgentEvent } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import type { ClientRun } from "./open-thread.js";
import { PlainClient } from "./stream-faults.js";
import { messagesOf, pairedMessagesOf, user } from "./thread.js";

// biome-ignore lint/suspicious/noExplicitAny: the types of an agent name all its options, which no test reads.
export type AnyAgent = ReactAgent<any>;

export interface AgentRunOptions {
  readonly signal?: AbortSignal;
  readonly durability?: "sync" | "async" | "exit";
}

/** A thread of an agent with this library's middleware, unless others are given, whose state is in memory. */
export function openAgent(options: { readonly model: object; readonly [option: string]: unknown }) {
  const others = { checkpointer: new MemorySaver(), middleware: [tetherMiddleware()] };
  return openAgentThread(createAgent({ ...others, ...options } as never) as unknown as AnyAgent);
}

/** @param agent An agent with a checkpointer. */
export function openAgentThread(agent: AnyAgent, threadId = "1") {
  const config = { configurable: { thread_id: threadId } };
  const values = async () => (await agent.graph.getState(config)).values;
  return {
    agent,
    config,
    values,
    /** Writes messages as a client or a node does. */
    update: (messages: unknown, node?: string) => agent.graph.updateState(config, { messages }, node),
    /** The messages of a thread in which no call waits. */
    read: async (): Promise<BaseMessage[]> => pairedMessagesOf(await values()),
    /** The same for one in which a call can wait. */
    readOpen: async (): Promise<BaseMessage[]> => messagesOf(await values()),
    /** One run. It does not reject if the run fails. */
    run: async (input: unknown, options: AgentRunOptions = {}): Promise<ClientRun> => {
      const client = new PlainClient();
      const events: AgentEvent[] = [];
      const parts: BaseMessage[] = [];
      let error: unknown;
      try {
        const streamed = { ...config, ...options, streamMode: ["messages", "custom"] as const };
        const stream = await agent.stream(input as never, streamed as never);
        for await (const [mode, data] of stream as unknown as AsyncIterable<[string, unknown]>) {
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
    },
    /** One run that must not fail. */
    send: async (text: string): Promise<BaseMessage[]> => {
      await agent.invoke(user(text) as never, config);
      return pairedMessagesOf(await values());
    },
  };
}
