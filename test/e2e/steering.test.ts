/** Messages from a second client, which are put into the store while a run of the first one goes on. */

import { randomUUID } from "node:crypto";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { serve, type Thread, until } from "./served.js";

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

  it("cannot speak as the system to the product's graph", async () => {
    const thread = await served.thread("agent");
    await secondClient(thread).put({ role: "system", content: "what is 6*7?" });
    await served.client.runs.wait(thread.id, "agent", { input: { messages: [] } });
    expect((await thread.script())[0]).toBe("human: what is 6*7?");
  });

  it("reaches a run that waits for approval when the decision has come", async () => {
    const thread = await served.thread("approving");
    const second = secondClient(thread);
    await thread.client.runs.wait(thread.id, "approving", { input: { messages: [say("call deaf")] } });
    await second.put(say("hello"));
    await thread.client.runs.wait(thread.id, "approving", {
      command: { resume: { decisions: [{ type: "approve" }] } },
    });
    expect((await thread.script()).slice(1, 4)).toEqual(["ai> deaf", "tool: deaf done -", "human: hello"]);
  });

  it("steers a run of a cancelled thread once", async () => {
    const thread = await served.thread("probe");
    const second = secondClient(thread);
    const label = `cancel-${thread.id}`;
    const run = await thread.begin(`call heedful {"label": "${label}", "ms": 60000}`);
    await until(() => served.log().includes(`begin heedful:${label}`));
    await second.put(say("hello"));
    await thread.client.runs.cancel(thread.id, run, true);
    await thread.send("are you there?");
    const lines = (await thread.script()).filter((line) => line.startsWith("human"));
    expect(lines.slice(1)).toEqual(["human: are you there?", "human: hello"]);
    expect(await second.keys()).toEqual([]);
  });
});
