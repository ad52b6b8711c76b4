/** What a page with `useStream` of LangGraph's SDK sends and shows. */

import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { Message } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { Window } from "happy-dom";
import { afterEach, expect, it, vi } from "vitest";
import type { ApprovalRequest } from "../../../src/index.js";
import { script } from "../../support/thread.js";
import { serve, until } from "../served.js";

interface ReactPage<Value> {
  /** What the hook returned when it was rendered last. */
  readonly current: Value;
  close(): Promise<void>;
}

/** React looks for a window when it is loaded, so it is loaded here. Tests close the page, which takes the window away. */
async function openReactPage<Value>(hook: () => Value): Promise<ReactPage<Value>> {
  const window = new Window({ url: "http://localhost/" });
  const { document, navigator } = window;
  for (const [name, value] of Object.entries({ window, document, navigator })) vi.stubGlobal(name, value);
  const { createElement } = await import("react");
  const { createRoot } = await import("react-dom/client");
  let current: Value | undefined;
  const root = createRoot(document.createElement("div") as never);
  await new Promise<void>((resolve) => {
    root.render(
      createElement(() => {
        current = hook();
        resolve();
        return null;
      }),
    );
  });
  return {
    get current() {
      return current as Value;
    },
    close: async () => {
      root.unmount();
      // React reads the window once more in what it has put off.
      await new Promise(setImmediate);
      await window.happyDOM.close();
      vi.unstubAllGlobals();
    },
  };
}

const served = serve();
const useChat = (graph: string, threadId: string) =>
  useStream<{ messages: Message[] }, { InterruptType: ApprovalRequest }>({
    apiUrl: served.url,
    assistantId: graph,
    threadId,
    messagesKey: "messages",
    fetchStateHistory: true,
    throttle: false,
  });
let page: ReactPage<ReturnType<typeof useChat>> | undefined;
afterEach(() => page?.close());

async function open(graph: string) {
  const thread = await served.thread(graph);
  const opened = await openReactPage(() => useChat(graph, thread.id));
  page = opened;
  const chat = () => opened.current;
  const isIdle = () => !chat().isLoading && !chat().isThreadLoading;
  const messages = () => chat().messages.map((message) => coerceMessageLikeToMessage(message as never));
  await until(isIdle);
  return {
    chat,
    thread,
    isIdle,
    messages,
    shown: () => script(messages()),
    /** Its promise resolves when the run has ended, and the page is rendered a moment later. */
    submit: async (...args: Parameters<ReturnType<typeof useChat>["submit"]>) => {
      await chat().submit(...args);
      await until(isIdle);
    },
  };
}

const user = (content: string) => ({ messages: [{ type: "human" as const, content }] });

it("shows what the thread has, each message once", async () => {
  const { submit, shown, thread } = await open("probe");
  await submit(user('call heedful {"label": "u1"} and call heedful {"label": "u2"}'));
  await submit(user("hello"));
  await until(() => shown().length === 7);
  expect(shown().slice(1, 4)).toEqual([
    "ai> heedful heedful",
    "tool: heedful done u1",
    "tool: heedful done u2",
  ]);
  expect(shown()).toEqual(await thread.script());
});

it("stops a run for real, and shows the recovered result after the next message", async () => {
  const { chat, submit, shown, thread } = await open("probe");
  const run = chat().submit(
    user('call heedful {"label": "u3"} and call heedful {"label": "u-cut", "ms": 600000}'),
  );
  await until(() => served.log().includes("begin heedful:u-cut"));
  await until(() => served.log().includes("end heedful:u3"));
  await chat().stop();
  await run;
  await until(async () => (await thread.client.threads.get(thread.id)).status !== "busy");
  await submit(user("and now?"));
  await until(() => shown().length === 6);
  expect(shown().slice(1, 5)).toEqual([
    "ai> heedful heedful",
    "tool: heedful done u3",
    expect.stringMatching(/^tool! Tool call heedful .* a new message came before it finished/),
    "human: and now?",
  ]);
  expect(shown()).toEqual(await thread.script());
});

it("stops a run for a message that says so", async () => {
  const { chat, submit, shown, thread } = await open("probe");
  const run = chat().submit(user('call heedful {"label": "u6", "ms": 600000}'));
  await until(() => served.log().includes("begin heedful:u6"));
  await submit(user("and now?"), { multitaskStrategy: "interrupt" });
  await run;
  await until(() => shown().length === 5);
  expect(shown().slice(1, 4)).toEqual([
    "ai> heedful",
    expect.stringMatching(/^tool! Tool call heedful .* a new message came before it finished/),
    "human: and now?",
  ]);
  expect(shown()).toEqual(await thread.script());
});

it("regenerates a response, and edits a message, on branches of their own", async () => {
  const { chat, submit, messages, shown, thread } = await open("probe");
  await submit(user('call heedful {"label": "u4"}'));
  await submit(user("hello"));
  await until(() => shown().length === 6);
  const before = shown();
  /** The checkpoint before the one that first had the last message of a type. */
  const checkpointBefore = (type: string) => {
    const index = messages().findLastIndex((message) => message.type === type);
    const message = chat().messages[index];
    return message && chat().getMessagesMetadata(message, index)?.firstSeenState?.parent_checkpoint;
  };
  await submit(undefined, { checkpoint: checkpointBefore("ai") ?? null });
  expect((await thread.script()).slice(0, 5)).toEqual(before.slice(0, 5));
  expect(await thread.script()).toHaveLength(6);
  await submit(user('call heedful {"label": "u5"}'), { checkpoint: checkpointBefore("human") ?? null });
  const lines = await thread.script();
  expect(lines.slice(0, 4)).toEqual(before.slice(0, 4));
  expect(lines.slice(4, 7)).toEqual([
    'human: call heedful {"label": "u5"}',
    "ai> heedful",
    "tool: heedful done u5",
  ]);
});

it("shows the question of an approval, and takes the decision", async () => {
  const { chat, submit, thread } = await open("paying");
  await submit(user('call pay {"amount": 801}'));
  await until(() => chat().interrupt !== undefined);
  expect(chat().interrupt?.value?.action_requests.map(({ name }) => name)).toEqual(["pay"]);
  await submit(undefined, { command: { resume: { decisions: [{ type: "approve" }] } } });
  expect((await thread.script())[2]).toBe("tool: paid 801");
  await until(() => chat().interrupt === undefined);
});

it.each([
  ["keep", 8],
  ["archive", 8],
])(
  "has a summary with the id that a page must hide, and with `%s` the messages of the state",
  async (graph, turns) => {
    const { submit, messages, thread } = await open(graph);
    for (let turn = 0; turn < turns; turn += 1)
      await submit(user(`hello ${turn} ${"and more words ".repeat(40)}`));
    const stored = await thread.messages();
    await until(() => messages().at(-1)?.id === stored.at(-1)?.id);
    const shown = messages().filter(({ id = "" }) => !id.startsWith("do-not-render-"));
    expect(messages().length - shown.length).toBeGreaterThan(0);
    if (graph === "keep") expect(shown).toHaveLength(2 * turns);
    else expect(shown.length).toBeLessThan(2 * turns);
  },
);
