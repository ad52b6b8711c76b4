/** The middleware beside others of LangChain and deepagents, on a server, behind providers that refuse a bad history. */

import { describe, expect, it } from "vitest";
import { readFullHistory } from "../../../src/index.js";
import { pairedMessagesOf, script } from "../../support/thread.js";
import { serve } from "../served.js";

const served = serve();

describe.concurrent("beside humanInTheLoopMiddleware", () => {
  const question = 'call deaf {"label": "asked"} and call heedful {"label": "free"}';

  it("a new message declines the call that waits, and closes the other", async () => {
    const thread = await served.thread("create_agent_asking");
    await thread.client.runs.wait(thread.id, thread.graph, {
      input: { messages: [{ role: "user", content: question }] },
    });
    expect(await thread.send("hello")).toEqual([
      `human: ${question}`,
      "ai> deaf heedful",
      expect.stringMatching(/^tool! Tool call deaf .*: it was not approved, so it was not run\.$/),
      expect.stringMatching(/^tool! Tool call heedful .*: its run ended before it was started/),
      "human: hello",
      "ai: I read: hello",
    ]);
    expect(served.log()).not.toContain("begin deaf:asked");
  });

  it.each([
    ["approve", ["tool: heedful done free", "tool: deaf done asked again"]],
    // LangChain asks the model at once, without a run of the other call.
    [
      "reject",
      [expect.stringMatching(/^tool! Tool call heedful/), expect.stringMatching(/^tool! User rejected/)],
    ],
  ])("a decision leaves a mixed batch sound: %s", async (type, results) => {
    const thread = await served.thread("create_agent_asking");
    await thread.client.runs.wait(thread.id, thread.graph, {
      input: { messages: [{ role: "user", content: question.replace("asked", "asked again") }] },
    });
    await thread.client.runs.wait(thread.id, thread.graph, {
      command: { resume: { decisions: [{ type }] } },
    });
    // LangChain puts the calls that need approval after the others.
    expect((await thread.script()).slice(1, 4)).toEqual(["ai> heedful deaf", ...results]);
    expect((await thread.send("hello")).at(-1)).toBe("ai: I read: hello");
  });
});

describe.concurrent("beside a summary of another middleware", () => {
  it("of LangChain: calls and results stay together, and calls of the thread go on", async () => {
    const thread = await served.thread("create_agent_summing");
    for (const turn of [1, 2, 3])
      await thread.send(`call deaf {"label": "${turn}"} and call deaf {"label": "b"}`);
    const messages = await thread.messages();
    expect(messages[0]?.text).toMatch(/^Here is a summary of the conversation to date/);
    expect(messages.length).toBeLessThan(12);
    expect((await thread.send("hello")).at(-1)).toBe("ai: I read: hello");
  });

  it.skipIf(process.env["SLOW_TESTS"] !== "1")("of deepagents: the messages stay in the thread", async () => {
    const thread = await served.thread("deep_agent_summing");
    const long = "word ".repeat(2_000);
    for (const turn of [1, 2, 3, 4]) await thread.send(`${turn} ${long}`);
    await thread.send('call deaf {"label": "old"} and call deaf {"label": "too"}');
    await thread.send(long);
    const { values } = await thread.client.threads.getState(thread.id);
    expect(Object.keys(values)).toContain("_summarizationEvent");
    expect(await thread.script()).toHaveLength(15);
    await thread.expectToGoOn();
    expect((await thread.send("hello")).at(-1)).toBe("ai: I read: hello");
  });
});

it("A summary of this middleware moves messages to the store of the server, where none is lost.", async () => {
  const thread = await served.thread("create_agent_archiving");
  const long = "word ".repeat(200);
  const said = [0, 1, 2, 3].map((turn) => `turn ${turn} ${long}`);
  for (const text of said) await thread.send(text);
  await thread.send('call deaf {"label": "archived"} and call deaf {"label": "archived too"}');
  await thread.send(`turn 4 ${long}`);
  const stored = await thread.messages();
  expect(stored.length).toBeLessThan(14);
  expect(stored.map(({ text }) => text).join("\n")).toContain("short summary");

  const store = { get: (namespace: string[], key: string) => thread.client.store.getItem(namespace, key) };
  const { values } = await thread.client.threads.getState(thread.id);
  const whole = await readFullHistory(store, thread.id, values as object);
  expect(whole.filter(({ type }) => type === "human").map(({ text }) => text.slice(0, 6))).toEqual([
    "turn 0",
    "turn 1",
    "turn 2",
    "turn 3",
    "call d",
    "turn 4",
  ]);
  expect(script(whole)).toEqual(
    expect.arrayContaining(["tool: deaf done archived", "tool: deaf done archived too"]),
  );
  expect((await thread.send("hello")).at(-1)).toBe("ai: I read: hello");
});

it("A model of another provider goes on with the thread when the first one cannot be reached.", async () => {
  const thread = await served.thread("create_agent_tethered");
  await thread.send('call deaf {"label": "first"} and call deaf {"label": "second"}');
  const later = await served.client.runs.wait(thread.id, "create_agent_falling_back", {
    input: {
      messages: [{ role: "user", content: 'call deaf {"label": "other"} and call deaf {"label": "two"}' }],
    },
  });
  expect(pairedMessagesOf(later).at(-1)?.text).toBe("The tools returned: deaf done other, deaf done two");
  await thread.expectToGoOn();
});
