/**
 * What assistant-ui sends: the requests that @assistant-ui/react-langgraph 0.14.26 was seen to make in a browser, through the
 * SDK. It sends new messages only, and a made-up result for each call without one. The package itself brings React and more
 * than sixty others.
 */

import { randomUUID } from "node:crypto";
import type { Message } from "@langchain/langgraph-sdk";
import { expect, it } from "vitest";
import { serve, type Thread, until } from "../served.js";

const served = serve();

/** Its `unstable_createLangGraphStream`. */
async function stream(
  thread: Thread,
  messages: readonly object[],
  config: object = {},
  signal?: AbortSignal,
) {
  const payload = {
    input: messages.length > 0 ? { messages } : null,
    streamMode: ["messages", "updates", "custom"],
    onDisconnect: "cancel",
    ...(signal && { signal }),
    ...config,
  };
  for await (const { event, data } of thread.client.runs.stream(thread.id, thread.graph, payload as never))
    if (event === "error") throw new Error(JSON.stringify(data));
}

/** Its `runUserMessage`, with what the page has shown. */
async function send(thread: Thread, content: string, config: object = {}, signal?: AbortSignal) {
  const { values } = await thread.client.threads.getState<{ messages?: Message[] }>(thread.id);
  const shown = values.messages ?? [];
  const answered = new Set(
    shown.flatMap((message) => (message.type === "tool" ? [message.tool_call_id] : [])),
  );
  const open = shown.flatMap((message) => (message.type === "ai" ? (message.tool_calls ?? []) : []));
  const cancellations = open
    .filter(({ id = "" }) => !answered.has(id))
    .map(({ id, name }) => ({
      id: randomUUID(),
      type: "tool",
      name,
      tool_call_id: id,
      content: JSON.stringify({ cancelled: true }),
      status: "error",
    }));
  await stream(thread, [...cancellations, { id: randomUUID(), type: "human", content }], config, signal);
}

it("cancels for real by leaving, and its made-up result stands for no call of the graph", async () => {
  const thread = await served.thread("probe");
  const leaving = new AbortController();
  const run = send(
    thread,
    'call heedful {"label": "a1"} and call heedful {"label": "a-cut", "ms": 600000}',
    {},
    leaving.signal,
  );
  const left = run.catch(() => {});
  await until(() => served.log().includes("begin heedful:a-cut"));
  await until(() => served.log().includes("end heedful:a1"));
  leaving.abort();
  await left;
  await until(async () => (await thread.client.threads.get(thread.id)).status !== "busy");
  await send(thread, "and now?");
  expect((await thread.script()).slice(1, 5)).toEqual([
    "ai> heedful heedful",
    "tool: heedful done a1",
    expect.stringMatching(/^tool! Tool call heedful .* a new message came before it finished/),
    "human: and now?",
  ]);
  await thread.expectToGoOn();
});

it("declines a call that waits for a human with the next message, and its made-up result does not approve it", async () => {
  const thread = await served.thread("paying");
  await send(thread, 'call pay {"amount": 901}');
  await send(thread, "never mind");
  expect((await thread.script())[2]).toMatch(
    /^tool! Tool call pay .* it was not approved, so it was not run\.$/,
  );
  await send(thread, 'call pay {"amount": 902}');
  await stream(thread, [], { command: { resume: { decisions: [{ type: "approve" }] } } });
  expect((await thread.script()).at(-2)).toBe("tool: paid 902");
});

it("regenerates and edits from a checkpoint", async () => {
  const thread = await served.thread("probe");
  await send(thread, 'call heedful {"label": "a2"}');
  await send(thread, "hello");
  const before = await thread.script();
  const states = await thread.client.threads.getHistory<{ messages?: Message[] }>(thread.id, { limit: 20 });
  /** What `getCheckpointId` of an application finds: the state that ends with the message before. */
  const endingAfter = (count: number) =>
    states.find(({ values }) => values.messages?.length === count)?.checkpoint.checkpoint_id;
  await stream(thread, [], { checkpoint: { checkpoint_id: endingAfter(5) } });
  expect(await thread.script()).toEqual(before);
  await stream(thread, [{ id: randomUUID(), type: "human", content: 'call heedful {"label": "a3"}' }], {
    checkpoint: { checkpoint_id: endingAfter(4) },
  });
  expect((await thread.script()).slice(4, 7)).toEqual([
    'human: call heedful {"label": "a3"}',
    "ai> heedful",
    "tool: heedful done a3",
  ]);
});
