/** A page with `useStream` of LangGraph's SDK. */

import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { Message } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { Window } from "happy-dom";
import { onTestFinished, vi } from "vitest";
import type { ApprovalRequest } from "../../../src/index.js";
import { script } from "../../support/thread.js";
import { type Thread, until } from "../served.js";
import { type Chat, isHidden } from "./chat.js";

/** React looks for a window when it is loaded, so it is loaded here. The end of the test takes the window away. */
async function render<Value>(hook: () => Value): Promise<() => Value> {
  const window = new Window({ url: "http://localhost/" });
  const { document, navigator } = window;
  for (const [name, value] of Object.entries({ window, document, navigator })) vi.stubGlobal(name, value);
  const { createElement } = await import("react");
  const { createRoot } = await import("react-dom/client");
  let current: Value | undefined;
  const root = createRoot(document.createElement("div") as never);
  await new Promise<void>((resolve) => {
    const Page = () => {
      current = hook();
      resolve();
      return null;
    };
    root.render(createElement(Page));
  });
  onTestFinished(async () => {
    root.unmount();
    // React reads the window once more in what it has put off.
    await new Promise(setImmediate);
    await window.happyDOM.close();
    vi.unstubAllGlobals();
  });
  return () => current as Value;
}

const human = (content: string) => ({ messages: [{ type: "human" as const, content }] });

export async function openUseStream(thread: Thread, apiUrl: string) {
  const chat = await render(() =>
    useStream<{ messages: Message[] }, { InterruptType: ApprovalRequest }>({
      apiUrl,
      assistantId: thread.graph,
      threadId: thread.id,
      messagesKey: "messages",
      fetchStateHistory: true,
      throttle: false,
    }),
  );
  const isIdle = () => !chat().isLoading && !chat().isThreadLoading;
  /** The promise of `submit` resolves when the run has ended, and the page is rendered a moment later. */
  const submit = async (...args: Parameters<ReturnType<typeof chat>["submit"]>) => {
    await chat().submit(...args);
    await until(isIdle);
  };
  /** The checkpoint before the one that first had the last message of a type. */
  const before = (type: string) => {
    const index = chat().messages.findLastIndex((message) => message.type === type);
    const message = chat().messages[index];
    const checkpoint =
      message && chat().getMessagesMetadata(message, index)?.firstSeenState?.parent_checkpoint;
    return { checkpoint: checkpoint ?? null };
  };
  await until(isIdle);
  return {
    thread,
    chat,
    submit,
    send: (text, options: Parameters<typeof submit>[1] = {}) => submit(human(text), options),
    stop: () => chat().stop(),
    /** It is rendered a moment after it has read the state of the thread. */
    shown: async () => {
      const last = (await thread.messages()).at(-1)?.id;
      await until(() => chat().messages.at(-1)?.id === last);
      const messages = chat().messages.map((message) => coerceMessageLikeToMessage(message as never));
      return script(messages.filter((message) => !isHidden(message)));
    },
    approve: async () => {
      await until(() => chat().interrupt !== undefined);
      const id = chat().interrupt?.id ?? "";
      await submit(undefined, { command: { resume: { [id]: { decisions: [{ type: "approve" }] } } } });
      await until(() => chat().interrupt === undefined);
    },
    regenerate: () => submit(undefined, before("ai")),
    edit: (text) => submit(human(text), before("human")),
  } satisfies Chat & Record<string, unknown>;
}
