/** What the client of AG-UI sends, which CopilotKit uses too: all of its messages, with each run. */

import { randomUUID } from "node:crypto";
import type { Message } from "@ag-ui/core";
import { LangGraphAgent } from "@ag-ui/langgraph";
import { expect, it, vi } from "vitest";
import { script } from "../../support/thread.js";
import { serve, until } from "../served.js";

const served = serve();

async function open(graph: string) {
  const thread = await served.thread(graph);
  const agent = new LangGraphAgent({ deploymentUrl: served.url, graphId: graph, threadId: thread.id });
  return {
    agent,
    thread,
    send: async (content: string, id: string = randomUUID()) => {
      agent.addMessage({ id, role: "user", content });
      await agent.runAgent();
    },
    /** One line for each message that the page has. Its order is its own: the results of a run come after its response. */
    shown: () => agent.messages.map(lineOf).toSorted(),
    stored: async () => script(await thread.messages()).map((line) => line.replace(/^(\w+)!/, "$1:")),
  };
}

const ROLES: Readonly<Record<string, string>> = { user: "human", assistant: "ai" };

function lineOf(message: Message): string {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  if (calls.length > 0) return `ai> ${calls.map((call) => call.function.name).join(" ")}`;
  return `${ROLES[message.role] ?? message.role}: ${message.content}`;
}

const PLACEHOLDER = /^tool: Tool call heedful .* a new message came before it finished/;

it("shows each message once, over turns in which it sends all of them again", async () => {
  const { send, shown, stored } = await open("probe");
  await send('call heedful {"label": "g1"} and call heedful {"label": "g2"}');
  await send("hello");
  await send("and on");
  const lines = await stored();
  expect(lines.slice(1, 4)).toEqual([
    "ai> heedful heedful",
    "tool: heedful done g1",
    "tool: heedful done g2",
  ]);
  expect(lines).toHaveLength(9);
  expect(shown()).toEqual(lines.toSorted());
});

it("cancels for real, and shows the recovered result and the placeholder after the next message", async () => {
  const { agent, thread, send, shown, stored } = await open("probe");
  // Its own check of the stream complains about a run that ends within its calls.
  const complaints = vi.spyOn(console, "error").mockImplementation(() => {});
  const run = send('call heedful {"label": "g3"} and call heedful {"label": "g-cut", "ms": 600000}');
  const ended = run.catch(() => {});
  await until(() => served.log().includes("begin heedful:g-cut"));
  await until(() => served.log().includes("end heedful:g3"));
  agent.abortRun();
  await ended;
  complaints.mockRestore();
  await until(async () => (await thread.client.threads.get(thread.id)).status !== "busy");
  // As after a reload: until a run ends, it has parallel calls as one, with the arguments of all, and cannot send it.
  agent.setMessages([]);
  await send("and now?");
  const lines = await stored();
  expect(lines.slice(1, 5)).toEqual([
    "ai> heedful heedful",
    "tool: heedful done g3",
    expect.stringMatching(PLACEHOLDER),
    "human: and now?",
  ]);
  expect(shown()).toEqual(lines.toSorted());
});

it("lets a message of another page wait for the end of a run", async () => {
  const { thread, send, stored } = await open("probe");
  const first = send('call heedful {"label": "g7", "ms": 600000}').catch(() => {});
  await until(() => served.log().includes("begin heedful:g7"));
  const other = new LangGraphAgent({ deploymentUrl: served.url, graphId: "probe", threadId: thread.id });
  other.addMessage({ id: randomUUID(), role: "user", content: "and now?" });
  const second = other.runAgent();
  const runWith = async (status: string) =>
    (await thread.client.runs.list(thread.id)).find((run) => run.status === status);
  await until(async () => (await runWith("pending")) !== undefined);
  await thread.client.runs.cancel(thread.id, (await runWith("running"))?.run_id ?? "");
  await Promise.all([first, second]);
  expect((await stored()).slice(1, 4)).toEqual([
    "ai> heedful",
    expect.stringMatching(PLACEHOLDER),
    "human: and now?",
  ]);
});

it("regenerates a response on a branch of its own", async () => {
  const { agent, send, stored } = await open("probe");
  await send('call heedful {"label": "g4"}');
  await send("hello", "the-question");
  const before = await stored();
  agent.setMessages(agent.messages.slice(0, agent.messages.findIndex(({ id }) => id === "the-question") + 1));
  await agent.runAgent();
  expect(await stored()).toEqual(before);
});

it("keeps one result for each call, though pages give results ids of their own", async () => {
  const { agent, send, stored } = await open("probe");
  await send('call heedful {"label": "g5"} and call heedful {"label": "g6"}');
  const before = await stored();
  agent.setMessages(
    agent.messages.map((message) => (message.role === "tool" ? { ...message, id: randomUUID() } : message)),
  );
  await send("hello");
  const lines = await stored();
  expect(lines.slice(0, before.length)).toEqual(before);
  expect(lines).toHaveLength(before.length + 2);
});

it("sends no message while a question waits, and then the decision about it", async () => {
  const { agent, send, stored, thread } = await open("paying");
  await send('call pay {"amount": 702}');
  await send("never mind");
  expect(await stored()).toEqual(['human: call pay {"amount": 702}', "ai> pay"]);
  const { tasks } = await thread.client.threads.getState(thread.id);
  const [{ id: interruptId = "" } = {}] = tasks.flatMap(({ interrupts }) => interrupts);
  const payload = { decisions: [{ type: "approve" }] };
  await agent.runAgent({ resume: [{ interruptId, status: "resolved", payload }] });
  expect((await stored())[2]).toBe("tool: paid 702");
});

it("shows a summary as words of the user, with the id that a page must hide", async () => {
  const { agent, send } = await open("keep");
  for (let turn = 0; turn < 8; turn += 1) await send(`hello ${turn} ${"and more words ".repeat(40)}`);
  const users = agent.messages.filter(({ role }) => role === "user");
  const hidden = users.filter(({ id }) => id.startsWith("do-not-render-"));
  expect(hidden.length).toBeGreaterThan(0);
  expect(users).toHaveLength(8 + hidden.length);
});

it("leaves archived messages in the archive, though it sends them again", async () => {
  const { agent, send, thread } = await open("archive");
  const all = new Map<string, Message>();
  for (let turn = 0; turn < 10; turn += 1) {
    // A page that keeps what it has shown.
    agent.setMessages([...all.values()]);
    await send(`hello ${turn} ${"and more words ".repeat(40)}`);
    for (const message of agent.messages) all.set(message.id, message);
    expect((await thread.messages()).length).toBeLessThan(12);
  }
  expect([...all.values()].filter(({ id }) => !id.startsWith("do-not-render-"))).toHaveLength(20);
});
