/** Chat UIs over the server: each sends its own requests, and what they show must be what the thread has. */

import { randomUUID } from "node:crypto";
import type { Message } from "@ag-ui/core";
import { LangGraphAgent } from "@ag-ui/langgraph";
import { afterAll, describe, expect, it, vi } from "vitest";
import { script } from "../support/thread.js";
import { openAgUi } from "./chat-uis/ag-ui.js";
import { AgentChatUi } from "./chat-uis/agent-chat-ui.js";
import { openAssistantUi } from "./chat-uis/assistant-ui.js";
import { type Chat, isHidden } from "./chat-uis/chat.js";
import { openUseStream } from "./chat-uis/use-stream.js";
import { serve, until } from "./served.js";

const served = serve();
const uis: AgentChatUi[] = [];

async function openAgentChatUi(graph: string) {
  const thread = await served.thread(graph);
  const ui = new AgentChatUi(served.url, graph, thread.id);
  uis.push(ui);
  const idOf = async (type: string) =>
    (await ui.shown()).findLast((message) => message.type === type)?.id ?? "";
  return {
    thread,
    ui,
    send: (text) => ui.send(text),
    /** Its Cancel only stops reading. */
    stop: async () => {},
    shown: async () => script(await ui.shown()),
    approve: () => ui.decide({ type: "approve" }),
    regenerate: async () => ui.regenerate(await idOf("ai")),
    edit: async (text) => ui.edit(await idOf("human"), text),
  } satisfies Chat & Record<string, unknown>;
}

const openUseStreamOf = async (graph: string) => openUseStream(await served.thread(graph), served.url);
const openAgUiOf = async (graph: string) => openAgUi(await served.thread(graph), served.url);

const UIS: { readonly [ui: string]: (graph: string) => Promise<Chat> } = {
  "agent-chat-ui": openAgentChatUi,
  "assistant-ui": async (graph) => openAssistantUi(await served.thread(graph)),
  useStream: openUseStreamOf,
  "AG-UI": openAgUiOf,
};

const PLACEHOLDER = expect.stringMatching(
  /^tool! Tool call heedful .* a new message came before it finished/,
);

/** After so many turns the beginning of a thread of `keep` and `archive` is summarised. */
const TURNS = 5;

/** The page of AG-UI shows no errors of tools, and has the results of a run after its response. */
async function expectToShowAll(ui: string, { shown, thread }: Chat): Promise<void> {
  const lines = await thread.script();
  if (ui !== "AG-UI") expect(await shown()).toEqual(lines);
  else expect((await shown()).sort()).toEqual(lines.map((line) => line.replace(/^(\w+)!/, "$1:")).sort());
}

/** One page at a time has the window of React, and AG-UI complains on the console of all tests. */
const ALONE = ["useStream", "AG-UI"];

for (const [ui, open] of Object.entries(UIS))
  describe(ui, { concurrent: !ALONE.includes(ui) }, () => {
    it("shows text, parallel calls and their results once", async () => {
      const chat = await open("probe");
      await chat.send(`call heedful {"label": "1 ${ui}"} and call heedful {"label": "2 ${ui}"}`);
      await chat.send("hello");
      await chat.send("and on");
      const lines = await chat.thread.script();
      const results = [`tool: heedful done 1 ${ui}`, `tool: heedful done 2 ${ui}`];
      expect(lines.slice(1, 4)).toEqual(["ai> heedful heedful", ...results]);
      expect(lines).toHaveLength(9);
      await expectToShowAll(ui, chat);
    });

    it("goes on after its stop, with the recovered result and the placeholder", async () => {
      const chat = await open("probe");
      const { thread } = chat;
      // The check of the stream in AG-UI complains about a run that ends within its calls.
      const complaints = ui === "AG-UI" ? vi.spyOn(console, "error").mockImplementation(() => {}) : undefined;
      const ended = chat
        .send(`call heedful {"label": "3 ${ui}"} and call heedful {"label": "cut ${ui}", "ms": 600000}`)
        .catch(() => {});
      await until(() => served.hasLogged(`begin heedful:cut ${ui}`, `end heedful:3 ${ui}`));
      await chat.stop();
      if (ui !== "agent-chat-ui") {
        await ended;
        await until(async () => !(await thread.isBusy()));
      }
      complaints?.mockRestore();
      await chat.send("and now?");
      await ended;
      const lines = ["ai> heedful heedful", `tool: heedful done 3 ${ui}`, PLACEHOLDER, "human: and now?"];
      expect((await thread.script()).slice(1, 5)).toEqual(lines);
      await expectToShowAll(ui, chat);
      await thread.expectToGoOn();
    });

    it("regenerates a response and responds to an edited message, each on its own branch", async () => {
      const chat = await open("probe");
      await chat.send(`call heedful {"label": "4 ${ui}"}`);
      await chat.send("hello");
      const before = await chat.thread.script();
      await expectToShowAll(ui, chat);
      await chat.regenerate();
      expect(await chat.thread.script()).toEqual(before);
      if (ui === "AG-UI") return;
      const edited = `call heedful {"label": "5 ${ui}"}`;
      await chat.edit(edited);
      const lines = await chat.thread.script();
      expect(lines.slice(0, 4)).toEqual(before.slice(0, 4));
      expect(lines.slice(4, 7)).toEqual([`human: ${edited}`, "ai> heedful", `tool: heedful done 5 ${ui}`]);
      await expectToShowAll(ui, chat);
    });

    it("declines a call by the next message, whatever result it makes up, and approves another one", async () => {
      const chat = await open("paying");
      const amount = 1_000 + Object.keys(UIS).indexOf(ui);
      await chat.send(`call pay {"amount": ${amount}}`);
      await chat.send("never mind");
      if (ui === "AG-UI") {
        // It sends no message while a question waits.
        expect(script(await chat.thread.messages())).toEqual([
          `human: call pay {"amount": ${amount}}`,
          "ai> pay",
        ]);
      } else {
        const declined = /^tool! Tool call pay .* it was not approved, so it was not run\.$/;
        expect((await chat.thread.script())[2]).toMatch(declined);
        await chat.send(`call pay {"amount": ${amount}}`);
      }
      await chat.approve();
      expect((await chat.thread.script()).filter((line) => line.startsWith("tool: "))).toEqual([
        `tool: paid ${amount}`,
      ]);
      expect(paid(amount)).toHaveLength(1);
    });

    it("hides a summary by its id, and its scrollback stays whole", async () => {
      const chat = await open("keep");
      const texts = Array.from(
        { length: TURNS },
        (_, turn) => `hello ${turn} ${"and more words ".repeat(40)}`,
      );
      for (const text of texts) await chat.send(text);
      expect((await chat.thread.messages()).some(isHidden)).toBe(true);
      const shown = await chat.shown();
      expect(shown.filter((line) => line.startsWith("human"))).toEqual(texts.map((text) => `human: ${text}`));
      expect(shown).toHaveLength(2 * TURNS);
    });
  });

const paid = (amount: number) =>
  served.log().flatMap((line) => {
    const args: unknown = line.startsWith("pay ") ? JSON.parse(line.slice(4)) : undefined;
    return Reflect.get(Object(args), "amount") === amount ? [args] : [];
  });

describe.concurrent("agent-chat-ui, at an approval,", () => {
  const approve = { type: "approve" };
  const edit = (args: object) => ({ type: "edit", edited_action: { name: "pay", args } });

  it("shows the result of a free call beside it", async () => {
    const { ui, shown } = await openAgentChatUi("paying");
    await ui.send('call pay {"amount": 101} and call heedful {"label": "free-101"}');
    expect((await shown()).slice(1)).toEqual(["ai> pay heedful", "tool: heedful done free-101"]);
    expect(await ui.questions()).toHaveLength(1);
    await ui.decide(approve);
    const results = ["tool: paid 101", "tool: heedful done free-101"];
    expect((await shown()).slice(1, 4)).toEqual(["ai> pay heedful", ...results]);
  });

  it("sends edited numbers as text, which are taken", async () => {
    const { ui, thread } = await openAgentChatUi("paying");
    await ui.send('call pay {"amount": 10}');
    await ui.decide(edit({ amount: "102" }));
    expect(paid(102)).toEqual([{ amount: 102, urgent: false, note: null }]);
    await thread.script();
  });

  it("shows in the description why an edit was not taken, and nothing is run", async () => {
    const { ui, thread } = await openAgentChatUi("paying");
    await ui.send('call pay {"amount": 106} and call pay {"amount": 107}');
    await ui.decide(approve, edit({ amount: "lots" }));
    const [question] = await ui.questions();
    const says = /was not used: `decisions\.1\.edited_action\.args\.amount`.*expected number/;
    const descriptions = question?.action_requests.map(({ description }) => description);
    expect(descriptions).toEqual(Array(2).fill(expect.stringMatching(says)));
    expect([...paid(106), ...paid(107)]).toEqual([]);
    await ui.decide(approve, { type: "reject", message: "too much" });
    expect((await thread.script()).slice(2, 4)).toEqual([
      "tool: paid 106",
      "tool! Error: `pay` was not approved, so it was not run. Reason: too much",
    ]);
  });

  /** Its question is about the first of two payments, which the model wants to make one after the other. */
  const twoPayments = async (first: number, second: number) => {
    const chat = await openAgentChatUi("paying");
    await chat.ui.send(`call pay {"amount": ${first}} then call pay {"amount": ${second}}`);
    const asks = async () =>
      (await chat.ui.questions()).flatMap((question) => question.action_requests.map(({ args }) => args));
    expect(await asks()).toEqual([{ amount: first }]);
    return {
      ...chat,
      asks,
      paidOnes: () => [...paid(first), ...paid(second)].map((args) => Object(args).amount),
    };
  };

  it("answers two questions of a thread, each from the checkpoint that it shows", async () => {
    const { ui, thread, asks, paidOnes } = await twoPayments(111, 112);
    await ui.decide(approve);
    expect(await asks()).toEqual([{ amount: 112 }]);
    await ui.decide(approve);
    expect(paidOnes()).toEqual([111, 112]);
    await thread.script();
  });

  it("approves nothing on a page that still shows an earlier question, and says why", async () => {
    const { ui, asks, paidOnes } = await twoPayments(113, 114);
    const approveOnOldPage = await ui.look();
    await ui.decide({ type: "reject" });
    await approveOnOldPage(approve);
    expect(JSON.stringify(ui.parts.at(-1))).toMatch(/^{"event":"error".*has gone on since this one/);
    expect(paidOnes()).toEqual([]);
    expect(await asks()).toEqual([{ amount: 114 }]);
  });

  it("pays once for a double click, also where the model asks for the next call at once", async () => {
    const { ui, asks, paidOnes } = await twoPayments(115, 116);
    const click = await ui.look();
    await Promise.all([click(approve), click(approve)]);
    expect(paidOnes()).toEqual([115]);
    expect(await asks()).toEqual([{ amount: 116 }]);
  });

  it("leaves questions that other pages answer by their ids, also after an edit", async () => {
    const { ui, thread, asks, paidOnes } = await twoPayments(117, 118);
    await ui.decide(approve);
    await thread.resume(approve);
    expect(paidOnes()).toEqual([117, 118]);
    const id = (await ui.shown()).find((message) => message.type === "human")?.id ?? "";
    await ui.edit(id, 'call pay {"amount": 119}');
    expect(await asks()).toEqual([{ amount: 119 }]);
    await thread.resume(approve);
    expect(paid(119)).toHaveLength(1);
    expect((await thread.send("hello")).slice(0, 3)).toEqual([
      'human: call pay {"amount": 119}',
      "ai> pay",
      "tool: paid 119",
    ]);
  });

  it("waits with a second click until the call that the first approved has ended", async () => {
    const { ui, thread } = await openAgentChatUi("approving");
    await ui.send('call deaf {"label": "slow", "ms": 1000}');
    const click = await ui.look();
    const first = click(approve);
    await until(() => served.hasLogged("begin deaf:slow"));
    await Promise.all([first, click(approve)]);
    expect((await thread.script()).slice(2)).toEqual([
      "tool: deaf done slow",
      expect.stringMatching(/^ai: /),
    ]);
    expect(served.log().filter((line) => line === "begin deaf:slow")).toHaveLength(1);
  });

  it("declines when it is marked as resolved, and the thread goes on", async () => {
    const { ui, thread } = await openAgentChatUi("paying");
    await ui.send('call pay {"amount": 109} and call heedful {"label": "free-109"}');
    await ui.markAsResolved();
    expect((await thread.script()).slice(1)).toEqual([
      "ai> pay heedful",
      expect.stringMatching(/^tool! Tool call pay .* it was not approved/),
      "tool: heedful done free-109",
    ]);
    expect(await ui.questions()).toEqual([]);
    await ui.send("something else");
    expect((await thread.script()).at(4)).toBe("human: something else");
    expect(paid(109)).toEqual([]);
  });
});

afterAll(() => {
  for (const { parts } of uis) expect(parts.length).toBeGreaterThan(0);
  const parts = uis.flatMap((ui) => ui.parts);
  const failed = parts.filter(({ event }) => event.startsWith("error"));
  // A cancelled run ends with an error of its own, and so does one with a late decision.
  const expected = /abort|cancel|has gone on since this one/i;
  expect(failed.filter(({ data }) => !expected.test(JSON.stringify(data)))).toEqual([]);
  // The place in the mark of a placeholder stands behind the checkpoint that sent the call.
  const own = /"(turn|summaryAttempt|threadUsage|(?<!"checkpoint":"[^"]*",")place|parseError|__tether_run)"/;
  expect(JSON.stringify(parts)).not.toMatch(own);
});

it("useStream stops a run for a message that says so", async () => {
  const { chat, send, shown, thread } = await openUseStreamOf("probe");
  const run = send('call heedful {"label": "u6", "ms": 600000}');
  await until(() => served.hasLogged("begin heedful:u6"));
  await send("and now?", { multitaskStrategy: "interrupt" });
  await run;
  await until(() => chat().messages.length === 5);
  expect((await shown()).slice(1, 4)).toEqual(["ai> heedful", PLACEHOLDER, "human: and now?"]);
  expect(await shown()).toEqual(await thread.script());
});

it("useStream shows the messages of the state while others are in an archive", async () => {
  const { send, shown, thread } = await openUseStreamOf("archive");
  for (let turn = 0; turn < TURNS; turn += 1) await send(`hello ${turn} ${"and more words ".repeat(40)}`);
  expect((await thread.messages()).some(isHidden)).toBe(true);
  expect((await shown()).length).toBeLessThan(2 * TURNS);
});

describe("AG-UI", () => {
  it("lets a message of another page wait for the end of a run", async () => {
    const { thread, send } = await openAgUiOf("probe");
    const first = send('call heedful {"label": "g7", "ms": 600000}').catch(() => {});
    await until(() => served.hasLogged("begin heedful:g7"));
    const other = new LangGraphAgent({ deploymentUrl: served.url, graphId: "probe", threadId: thread.id });
    other.addMessage({ id: randomUUID(), role: "user", content: "and now?" });
    const second = other.runAgent();
    const runWith = async (status: string) =>
      (await thread.client.runs.list(thread.id)).find((run) => run.status === status);
    await until(async () => (await runWith("pending")) !== undefined);
    await thread.client.runs.cancel(thread.id, (await runWith("running"))?.run_id ?? "");
    await Promise.all([first, second]);
    expect((await thread.script()).slice(1, 4)).toEqual(["ai> heedful", PLACEHOLDER, "human: and now?"]);
  });

  it("keeps one result for each call, though pages give results ids of their own", async () => {
    const { agent, send, thread } = await openAgUiOf("probe");
    await send('call heedful {"label": "g5"} and call heedful {"label": "g6"}');
    const before = await thread.script();
    const renamed = (message: Message) =>
      message.role === "tool" ? { ...message, id: randomUUID() } : message;
    agent.setMessages(agent.messages.map(renamed));
    await send("hello");
    const lines = await thread.script();
    expect(lines.slice(0, before.length)).toEqual(before);
    expect(lines).toHaveLength(before.length + 2);
  });

  it("leaves archived messages in the archive, though it sends them again", async () => {
    const { agent, send, thread } = await openAgUiOf("archive");
    const all = new Map<string, Message>();
    for (let turn = 0; turn < 10; turn += 1) {
      // A page that keeps what it has shown.
      agent.setMessages([...all.values()]);
      await send(`hello ${turn} ${"and more words ".repeat(40)}`);
      for (const message of agent.messages) all.set(message.id, message);
      expect((await thread.messages()).length).toBeLessThan(12);
    }
    expect([...all.values()].filter((message) => !isHidden(message))).toHaveLength(20);
  });
});
