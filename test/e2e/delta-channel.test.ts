/** A served graph whose messages are a delta channel. */

import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { messagesOf, pairedScript, script } from "../support/thread.js";
import { serve, until } from "./served.js";

const served = serve();

describe.concurrent("a served thread over a delta channel", () => {
  it("is updated, and its history and forks are right", async () => {
    const thread = await served.thread("probe_delta");
    const { threads, runs } = thread.client;
    const first = await thread.send('call deaf {"label": "d1"}');
    const { checkpoint } = await threads.getState(thread.id);
    await thread.send("hello");
    await threads.updateState(thread.id, { values: { messages: [{ role: "user", content: "by update" }] } });
    expect((await thread.script()).at(-1)).toBe("human: by update");
    await thread.expectToGoOn();

    const whole = await thread.script();
    const history = await threads.getHistory(thread.id, { limit: 1000 });
    expect(pairedScript(history[0]?.values)).toEqual(whole);
    const lengths = history.map(({ values }) => ("messages" in values ? messagesOf(values).length : 0));
    expect(lengths).toEqual(lengths.toSorted((one, other) => other - one));

    const forked = await runs.wait(thread.id, thread.graph, {
      input: { messages: [{ role: "user", content: "another way" }] },
      checkpoint: { ...checkpoint, checkpoint_map: {} },
    } as never);
    expect(pairedScript(forked).slice(0, first.length + 1)).toEqual([...first, "human: another way"]);
    expect(await thread.script()).toEqual(pairedScript(forked));
  });

  it("has the results of a cancelled run", async () => {
    const thread = await served.thread("probe_delta");
    await thread.send("hello");
    const before = await thread.script();
    const request = 'call deaf {"label": "d2"} and call heedful {"label": "d2", "ms": 60000}';
    const run = await thread.begin(request);
    await until(() => served.log().includes("end deaf:d2") && served.log().includes("begin heedful:d2"));
    // A tool's end is not yet the end of its task.
    await delay(100);
    await thread.client.runs.cancel(thread.id, run, true);
    const lines = await thread.send("hello again");
    expect(lines.slice(before.length, before.length + 5)).toEqual([
      `human: ${request}`,
      "ai> deaf heedful",
      "tool: deaf done d2",
      expect.stringMatching(/^tool! Tool call heedful/),
      "human: hello again",
    ]);
    expect(served.log().filter((line) => line === "begin deaf:d2")).toHaveLength(1);
    await thread.expectToGoOn();
  });

  it("is copied whole, and the copy goes on alone", async () => {
    const thread = await served.thread("probe_delta");
    await thread.send('call deaf {"label": "d3"}');
    const lines = await thread.send("hello");
    const copy = (await thread.client.threads.copy(thread.id)) as unknown as { thread_id: string };
    const read = async () =>
      script(messagesOf((await thread.client.threads.getState(copy.thread_id)).values));
    expect(await read()).toEqual(lines);
    const input = { messages: [{ role: "user", content: "hello" }] };
    await thread.client.runs.wait(copy.thread_id, thread.graph, { input });
    expect((await read()).slice(0, lines.length + 1)).toEqual([...lines, "human: hello"]);
    expect(await thread.script()).toEqual(lines);
  });
});
