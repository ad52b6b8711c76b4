/** An agent with a store, into whose thread messages are sent at chosen moments. */

import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { type AgentEvent, type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { makeTool } from "./make-tool.js";
import { messagesOf, script, user } from "./thread.js";

export const THREAD = "1";
export const config = { configurable: { thread_id: THREAD } };

/** The namespace that `docs/serving.md` names. */
export const INBOX = ["langgraph-tether", "inbox", THREAD];

/** A tool that does something each time it is called, such as sending a message to the thread. */
export function acting(name: string, act: () => unknown = () => {}) {
  return makeTool(name, async () => {
    await act();
    return `${name} done`;
  });
}

export function steeredThread(options: AgentGraphOptions, store = new InMemoryStore()) {
  const graph = createAgentGraph({ checkpointer: new MemorySaver(), store, ...options });
  const events: AgentEvent[] = [];
  const run = async (input: unknown, more: object = {}): Promise<void> => {
    const stream = await graph.stream(input as null, { ...config, ...more, streamMode: "custom" });
    for await (const event of stream) events.push(event as unknown as AgentEvent);
  };
  return {
    graph,
    store,
    events,
    run,
    say: (text: string, more: object = {}) => run(user(text), more),
    /** The keys of the items that are in the inbox. */
    inbox: async () => (await store.search(INBOX, { limit: 1000 })).map(({ key }) => key),
    messages: async () => messagesOf((await graph.getState(config)).values),
    script: async () => script(messagesOf((await graph.getState(config)).values)),
    eventTypes: () => events.map(({ type }) => type),
  };
}

export type SteeredThread = ReturnType<typeof steeredThread>;
