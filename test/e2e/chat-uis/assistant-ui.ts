/**
 * What assistant-ui sends: the requests that @assistant-ui/react-langgraph 0.14.26 was seen to make in a browser, through the
 * SDK. It sends new messages only, and a made-up result for each call without one. The package itself brings React and more
 * than sixty others.
 */

import { randomUUID } from "node:crypto";
import type { Message } from "@langchain/langgraph-sdk";
import { script } from "../../support/thread.js";
import type { Thread } from "../served.js";
import { type Chat, isHidden } from "./chat.js";

export function openAssistantUi(thread: Thread): Chat {
  const { threads, runs } = thread.client;
  let leaving = new AbortController();

  /** Its `unstable_createLangGraphStream`. */
  async function stream(messages: readonly object[], config: object = {}): Promise<void> {
    leaving = new AbortController();
    const payload = {
      input: messages.length > 0 ? { messages } : null,
      streamMode: ["messages", "updates", "custom"],
      onDisconnect: "cancel",
      signal: leaving.signal,
      ...config,
    };
    for await (const { event, data } of runs.stream(thread.id, thread.graph, payload as never))
      if (event === "error") throw new Error(JSON.stringify(data));
  }

  /** A made-up result for each call without one, of what the page has shown. */
  async function cancellations(): Promise<object[]> {
    const { values } = await threads.getState<{ messages?: Message[] }>(thread.id);
    const shown = values.messages ?? [];
    const answered = new Set(
      shown.flatMap((message) => (message.type === "tool" ? [message.tool_call_id] : [])),
    );
    const open = shown.flatMap((message) => (message.type === "ai" ? (message.tool_calls ?? []) : []));
    const content = JSON.stringify({ cancelled: true });
    return open
      .filter(({ id = "" }) => !answered.has(id))
      .map(({ id, name }) => ({
        id: randomUUID(),
        type: "tool",
        name,
        tool_call_id: id,
        content,
        status: "error",
      }));
  }

  const human = (content: string) => ({ id: randomUUID(), type: "human", content });
  /** What `getCheckpointId` of an application finds: the state that ends with the message before the last of a type. */
  async function before(type: string): Promise<object> {
    const states = await threads.getHistory<{ messages?: Message[] }>(thread.id, { limit: 20 });
    const count = (states[0]?.values.messages ?? []).findLastIndex((message) => message.type === type);
    const found = states.find(({ values }) => values.messages?.length === count);
    return { checkpoint: { checkpoint_id: found?.checkpoint.checkpoint_id } };
  }

  return {
    thread,
    /** Its `runUserMessage`. */
    send: async (text) => stream([...(await cancellations()), human(text)]),
    stop: async () => leaving.abort(),
    shown: async () => script((await thread.messages()).filter((message) => !isHidden(message))),
    /** Its `useLangGraphInterruptState` shows the question's value, without an id in its type. */
    approve: async () => {
      const [question] = await thread.questions();
      const calls = question?.request.action_requests ?? [];
      const decisions = calls.map(({ id }) => ({ type: "approve", tool_call_id: id }));
      await stream([], { command: { resume: { decisions } } });
    },
    regenerate: async () => stream([], await before("ai")),
    edit: async (text) => stream([human(text)], await before("human")),
  };
}
