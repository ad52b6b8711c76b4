import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, type ReactAgent } from "langchain";
import { tetherMiddleware } from "../../src/langchain.js";
import { type ClientRun, clientRun } from "./open-thread.js";
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

/** The same of an agent of LangChain. @param agent An agent with a checkpointer. */
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
    run: (input: unknown, options: AgentRunOptions = {}): Promise<ClientRun> => {
      const streamed = { ...config, ...options, streamMode: ["messages", "custom"] };
      return clientRun(() => agent.stream(input as never, streamed as never) as never);
    },
    /** One run that must not fail. */
    send: async (text: string): Promise<BaseMessage[]> => {
      await agent.invoke(user(text) as never, config);
      return pairedMessagesOf(await values());
    },
  };
}
