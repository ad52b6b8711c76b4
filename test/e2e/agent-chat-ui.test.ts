/** What agent-chat-ui sends, over the server: chats, cancelled runs, approvals, forks. */

import { afterAll, describe, expect, it } from "vitest";
import { AgentChatUi } from "../support/agent-chat-ui.js";
import { pairedScript, script } from "../support/thread.js";
import { serve, until } from "./served.js";

const served = serve();
const opened: AgentChatUi[] = [];

async function open(graph: string): Promise<AgentChatUi> {
  const { thread_id } = await served.client.threads.create();
  const ui = new AgentChatUi(served.url, graph, thread_id);
  opened.push(ui);
  return ui;
}

const shown = async (ui: AgentChatUi) => script(await ui.shown());
const stateOf = async (ui: AgentChatUi) =>
  pairedScript((await served.client.threads.getState(ui.threadId)).values);
const paid = (amount: number) =>
  served.log().flatMap((line) => {
    const args: unknown = line.startsWith("pay ") ? JSON.parse(line.slice(4)) : undefined;
    return Reflect.get(Object(args), "amount") === amount ? [args] : [];
  });
const approve = { type: "approve" };
const edit = (args: object) => ({ type: "edit", edited_action: { name: "pay", args } });

afterAll(() => {
  for (const { parts } of opened) expect(parts.length).toBeGreaterThan(0);
  const parts = opened.flatMap((ui) => ui.parts);
  const failed = parts.filter(({ event }) => event.startsWith("error"));
  // A cancelled run ends with an error of its own.
  expect(failed.filter(({ data }) => !/abort|cancel/i.test(JSON.stringify(data)))).toEqual([]);
  expect(JSON.stringify(parts)).not.toMatch(
    /"(turn|summaryAttempt|threadUsage|place|parseError|__tether_run)"/,
  );
});

describe.concurrent("a chat", () => {
  it("shows text, parallel calls and their results once, and goes on", async () => {
    const ui = await open("probe");
    await ui.send('call heedful {"label": "c1"} and call heedful {"label": "c2"}');
    const first = await shown(ui);
    expect(first.slice(1, 4)).toEqual([
      "ai> heedful heedful",
      "tool: heedful done c1",
      "tool: heedful done c2",
    ]);
    await ui.send("hello");
    expect((await shown(ui)).slice(0, first.length)).toEqual(first);
    expect(await stateOf(ui)).toEqual(await shown(ui));
  });

  it("goes on with the next message after its Cancel, which only stops reading", async () => {
    const ui = await open("probe");
    const left = ui.send('call heedful {"label": "c4"} and call heedful {"label": "left", "ms": 600000}');
    await until(() => served.log().includes("begin heedful:left"));
    await until(() => served.log().includes("end heedful:c4"));
    await ui.send("and now?");
    await left;
    expect((await stateOf(ui)).slice(1, 5)).toEqual([
      "ai> heedful heedful",
      "tool: heedful done c4",
      expect.stringMatching(/^tool! Tool call heedful .* a new message came before it finished/),
      "human: and now?",
    ]);
  });

  it("regenerates a response and responds to an edited message, each on its own branch", async () => {
    const ui = await open("probe");
    await ui.send('call heedful {"label": "f1"}');
    await ui.send("hello");
    const before = await ui.shown();
    const answer = before.at(-1);
    await ui.regenerate(answer?.id ?? "");
    expect((await shown(ui)).slice(0, -1)).toEqual(script(before.slice(0, -1)));
    const [question] = before.filter(({ type }) => type === "human").slice(-1);
    await ui.edit(question?.id ?? "", 'call heedful {"label": "f2"}');
    expect((await shown(ui)).slice(4)).toEqual([
      'human: call heedful {"label": "f2"}',
      "ai> heedful",
      "tool: heedful done f2",
      expect.stringContaining("heedful done f2"),
    ]);
    await ui.send("and on");
    await stateOf(ui);
  });
});

describe.concurrent("an approval", () => {
  it("shows the result of a free call beside it, and takes the decision", async () => {
    const ui = await open("paying");
    await ui.send('call pay {"amount": 101} and call heedful {"label": "free-101"}');
    expect((await shown(ui)).slice(1)).toEqual(["ai> pay heedful", "tool: heedful done free-101"]);
    expect(await ui.questions()).toHaveLength(1);
    await ui.decide(approve);
    expect((await shown(ui)).slice(1, 4)).toEqual([
      "ai> pay heedful",
      "tool: paid 101",
      "tool: heedful done free-101",
    ]);
    expect(paid(101)).toHaveLength(1);
  });

  it.each<[what: string, called: string, edited: object, ran: object]>([
    ["a number", '{"amount": 10}', { amount: "102" }, { amount: 102, urgent: false, note: null }],
  ])("takes an edit of %s, which arrives as text", async (_what, called, edited, ran) => {
    const ui = await open("paying");
    await ui.send(`call pay ${called}`);
    await ui.decide(edit(edited));
    expect(paid(Reflect.get(ran, "amount"))).toEqual([ran]);
    await stateOf(ui);
  });

  it("says in the description why an edit was not taken, and runs nothing", async () => {
    const ui = await open("paying");
    await ui.send('call pay {"amount": 106} and call pay {"amount": 107}');
    await ui.decide(approve, edit({ amount: "lots" }));
    const [question] = await ui.questions();
    expect(question?.action_requests.map(({ description }) => description)).toEqual([
      expect.stringMatching(/was not used: `decisions\.1\.edited_action\.args\.amount`.*expected number/),
      expect.stringMatching(/was not used: `decisions\.1\.edited_action\.args\.amount`.*expected number/),
    ]);
    expect([...paid(106), ...paid(107)]).toEqual([]);
    await ui.decide(approve, { type: "reject", message: "too much" });
    expect((await stateOf(ui)).slice(2, 4)).toEqual([
      "tool: paid 106",
      "tool! Error: `pay` was not approved, so it was not run. Reason: too much",
    ]);
  });

  it("is declined by a message, whatever result the UI makes up", async () => {
    const ui = await open("paying");
    await ui.send('call pay {"amount": 108}');
    await ui.send("never mind");
    expect((await stateOf(ui))[2]).toMatch(
      /^tool! Tool call pay .* it was not approved, so it was not run\.$/,
    );
    expect(paid(108)).toEqual([]);
  });

  it("is declined when it is marked as resolved, and the thread goes on", async () => {
    const ui = await open("paying");
    await ui.send('call pay {"amount": 109} and call heedful {"label": "free-109"}');
    await ui.markAsResolved();
    expect((await stateOf(ui)).slice(1)).toEqual([
      "ai> pay heedful",
      expect.stringMatching(/^tool! Tool call pay .* it was not approved/),
      "tool: heedful done free-109",
    ]);
    expect(await ui.questions()).toEqual([]);
    await ui.send("something else");
    expect((await stateOf(ui)).at(4)).toBe("human: something else");
    expect(paid(109)).toEqual([]);
  });
});

it("A summary is hidden by its id, and the scrollback stays whole", async () => {
  const ui = await open("keep");
  for (let turn = 0; turn < 8; turn += 1)
    await ui.send(`hello number ${turn} ${"and more words ".repeat(40)}`);
  const [head] = await ui.history();
  const summaries = (head?.values.messages ?? []).filter(({ id }) => id?.startsWith("do-not-render-"));
  expect(summaries.length).toBeGreaterThan(0);
  const humans = (await ui.shown()).filter(({ type }) => type === "human");
  expect(humans.map(({ text }) => text.slice(0, 14))).toEqual(
    Array.from({ length: 8 }, (_, turn) => `hello number ${turn}`),
  );
});
