/** A thread of an agent, as seen by a client that reads only what its runs give. */

import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, type ReactAgent } from "langchain";
import type { AgentEvent, createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { PlainClient } from "./stream-faults.js";
import { messagesOf, pairedMessagesOf, user } from "./thread.js";

/**
 * Whether the client listens to the model while it speaks. LangChain streams a model if somebody listens, and else asks it in
 * one piece.
 */
export const MANNERS = ["listened to", "not listened to"] as const;
export type Manner = (typeof MANNERS)[number];

export interface ClientRun {
  /** The messages that the client has in the end. If it does not listen, those that the run has added. */
  readonly messages: readonly BaseMessage[];
  readonly events: readonly AgentEvent[];
  /** The chunks that it got. */
  readonly parts: readonly BaseMessage[];
  /** The error of a failed run. */
  readonly error: unknown;
}

export const MODES = {
  "listened to": ["values", "messages", "custom"],
  "not listened to": ["values", "custom"],
} as const satisfies Record<Manner, readonly string[]>;

/** What `invoke` and `stream` of any agent share. */
interface Runs {
  invoke(input: never, config: object): Promise<unknown>;
  stream(input: never, config: object): Promise<AsyncIterable<unknown>>;
}

/** The state after a run. It rejects if the run fails. */
export async function stateAfter(
  agent: Runs,
  input: object,
  config: object,
  manner: Manner,
): Promise<unknown> {
  if (manner === "not listened to") return agent.invoke(input as never, config);
  let state: unknown;
  const streamed = await agent.stream(input as never, { ...config, streamMode: [...MODES[manner]] });
  for await (const [mode, data] of streamed as AsyncIterable<[string, unknown]>)
    if (mode === "values") state = data;
  return state;
}

/** An event as tests compare it. */
export function withoutPlace({
  threadId: _,
  runId: __,
  checkpointId: ___,
  ...event
}: AgentEvent): AgentEvent {
  return event as AgentEvent;
}

/** One run. It does not reject if the run fails. */
export async function clientRun(
  start: (streamMode: string[]) => Promise<AsyncIterable<unknown>>,
  manner: Manner = "listened to",
): Promise<ClientRun> {
  const client = new PlainClient();
  const events: AgentEvent[] = [];
  const parts: BaseMessage[] = [];
  const states: BaseMessage[][] = [];
  let error: unknown;
  try {
    for await (const [mode, data] of (await start([...MODES[manner]])) as AsyncIterable<[string, unknown]>) {
      if (mode === "custom") events.push(withoutPlace(data as AgentEvent));
      else if (mode === "values") {
        // A run that only waits has no state.
        if ("messages" in Object(data)) states.push(messagesOf(data));
      } else {
        const [message] = data as [BaseMessage];
        parts.push(message);
        client.add(message);
      }
    }
  } catch (reason) {
    error = reason;
  }
  const known = new Set(states[0]?.map(({ id }) => id));
  const added = (states.at(-1) ?? []).filter(({ id }) => !known.has(id));
  return { messages: manner === "listened to" ? client.messages : added, events, parts, error };
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
    send: (input: unknown, signal?: AbortSignal, manner?: Manner): Promise<ClientRun> => {
      const given = typeof input === "string" ? user(input) : (input as null);
      const options = { ...config, ...(signal && { signal }) };
      return clientRun(
        (streamMode) => graph.stream(given, { ...options, streamMode: streamMode as ["values", "custom"] }),
        manner,
      );
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the types of an agent name all its options, which no test reads.
export type AnyAgent = ReactAgent<any>;

export interface AgentRunOptions {
  readonly signal?: AbortSignal;
  readonly durability?: "sync" | "async" | "exit";
  readonly manner?: Manner;
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
    /** One run, without the event of its end. */
    run: async (input: unknown, { manner, ...options }: AgentRunOptions = {}): Promise<ClientRun> => {
      const { events, ...run } = await clientRun((streamMode) => {
        const streamed = { ...config, ...options, streamMode };
        return agent.stream(input as never, streamed as never) as never;
      }, manner);
      return { ...run, events: events.filter(({ type }) => type !== "run-end") };
    },
    /** One run that must not fail. */
    send: async (text: string): Promise<BaseMessage[]> => {
      await agent.invoke(user(text) as never, config);
      return pairedMessagesOf(await values());
    },
  };
}
