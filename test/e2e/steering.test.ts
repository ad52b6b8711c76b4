/** Messages from a second client, which are put into the store while a run of the first one goes on. */

import { randomUUID } from "node:crypto";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { serve, Thread, until } from "./served.js";

const served = serve();

/** A client of its own, which knows only the thread's id. */
function secondClient({ id }: Thread) {
  const { store } = new Client({ apiUrl: served.url, apiKey: null });
  const namespace = ["langgraph-tether", "inbox", id];
  return {
    put: (value: Record<string, unknown>, key: string = randomUUID()) => store.putItem(namespace, key, value),
    keys: async () => (await store.searchItems(namespace)).items.map(({ key }) => key),
  };
}

const say = (content: string) => ({ role: "user", content });

describe.concurrent("a second client", () => {
  it("steers a run while a tool runs, and the run streams the message and its event", async () => {
    const thread = await served.thread("probe");
    const second = secondClient(thread);
    const label = `steer-${thread.id}`;
    const events: unknown[] = [];
    const run = (async () => {
      const input = { messages: [say(`call deaf {"label": "${label}", "ms": 1500} and call failing`)] };
      for await (const { event, data } of served.client.runs.stream(thread.id, "probe", {
        input,
        streamMode: "custom",
      }))
        if (event === "custom") events.push(data);
    })();
    await until(() => served.log().includes(`begin deaf:${label}`));
    await second.put({ text: "not a message" }, "damaged");
    await second.put(say("call deaf"), "a");
    await run;
    expect(await thread.script()).toEqual([
      expect.stringContaining("human: call deaf"),
      "ai> deaf failing",
      `tool: deaf done ${label}`,
      "tool! Error: `failing` failed.",
      "human: call deaf",
      "ai> deaf",
      "tool: deaf done -",
      expect.stringMatching(/^ai: /),
    ]);
    const steered = (await thread.messages()).find(({ text }) => text === "call deaf");
    expect(events).toEqual([
      { type: "steering-refused", key: "damaged", reason: expect.stringContaining("Expected `message`") },
      { type: "message-steered", key: "a", messageId: steered?.id },
      expect.objectContaining({ type: "run-end" }),
    ]);
    expect(await second.keys()).toEqual([]);
    await thread.expectToGoOn();
  });

  it("cannot write to the state meanwhile, which is why there is an inbox", async () => {
    const thread = await served.thread("probe");
    const second = secondClient(thread);
    const label = `busy-${thread.id}`;
    await thread.begin(`call deaf {"label": "${label}", "ms": 1500}`);
    await until(() => served.log().includes(`begin deaf:${label}`));
    const update = served.client.threads.updateState(thread.id, { values: { messages: [say("x")] } });
    await expect(update).rejects.toMatchObject({ status: 409 });
    await second.put(say("hello"));
    await until(async () => (await second.keys()).length === 0);
    expect(await thread.script()).toContain("human: hello");
  });

  it("leaves a message for a thread without a run, and a run without input answers it", async () => {
    const thread = await served.thread("agent");
    const second = secondClient(thread);
    await second.put(say("what is 6*7?"));
    expect(await second.keys()).toHaveLength(1);
    await served.client.runs.wait(thread.id, "agent", { input: { messages: [] } });
    expect(await thread.script()).toEqual([
      "human: what is 6*7?",
      "ai> calculator",
      "tool: 42",
      "ai: 6*7 = 42",
    ]);
    expect(await second.keys()).toEqual([]);
  });
});

// Budgets over the server, whose counters belong to the thread.

/** Sends a message, and returns the events of the run about limits and its end. */
async function sayTo(thread: Thread, text: string, context: object = {}) {
  const events: Record<string, unknown>[] = [];
  const stream = thread.client.runs.stream(thread.id, thread.graph, {
    input: { messages: [{ role: "user", content: text }] },
    context,
    streamMode: "custom",
  });
  for await (const { event, data } of stream) {
    if (event === "error") throw new Error(JSON.stringify(data));
    if (event === "custom") events.push(Object(data));
  }
  return events;
}

const callOf = (...labels: readonly string[]) =>
  labels.map((label) => `call deaf {"label": "${label}"}`).join(" and ");

const begun = (beginning: string) =>
  served.log().filter((line) => line.startsWith(`begin deaf:${beginning}`)).length;

describe.concurrent("a served agent with budgets", () => {
  it("never runs more calls than the thread may have, and says why", async () => {
    const thread = await served.thread("budgeted");
    await sayTo(thread, callOf("budget-a1", "budget-a2"));
    const { thread_id } = (await thread.client.threads.copy(thread.id)) as { thread_id: string };
    const events = await sayTo(thread, callOf("budget-a3", "budget-a4"));
    expect(events).toMatchObject([
      { type: "limit-reached", limit: "max-tool-calls-per-thread" },
      { type: "run-end", usage: { models: { offline: { output_tokens: expect.any(Number) } } } },
    ]);
    expect(begun("budget-a")).toBe(2);
    expect((await thread.script()).slice(-3, -1)).toEqual(
      Array(2).fill("tool! Not run: the limit of tool calls for this thread is reached."),
    );
    // The copy of a thread has used what the thread had used.
    const copy = new Thread(served.client, "budgeted", thread_id);
    const warned = await sayTo(copy, callOf("budget-b1"));
    expect(warned[0]).toEqual({ type: "limit-near", limit: "max-tool-calls-per-thread", used: 3, max: 3 });
    await sayTo(copy, callOf("budget-b2"));
    expect(begun("budget-b")).toBe(1);
    await copy.script();
  });
});
