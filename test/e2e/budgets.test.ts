/** Budgets over the server, whose counters belong to the thread. */

import { describe, expect, it } from "vitest";
import { serve, Thread } from "./served.js";

const served = serve();

/** Sends a message, and returns the events of the run about limits and its end. */
async function say(thread: Thread, text: string, context: object = {}) {
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
    await say(thread, callOf("budget-a1", "budget-a2"));
    const { thread_id } = (await thread.client.threads.copy(thread.id)) as { thread_id: string };
    const events = await say(thread, callOf("budget-a3", "budget-a4"));
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
    const warned = await say(copy, callOf("budget-b1"));
    expect(warned[0]).toEqual({ type: "limit-near", limit: "max-tool-calls-per-thread", used: 3, max: 3 });
    await say(copy, callOf("budget-b2"));
    expect(begun("budget-b")).toBe(1);
    await copy.script();
  });

  it("does not ask the model of a thread without tokens left", async () => {
    const thread = await served.thread("budgeted");
    await say(thread, "hello");
    const events = await say(thread, "hello again", { maxTokensPerThread: 1 });
    expect(events).toEqual([
      { type: "limit-reached", limit: "max-tokens-per-thread" },
      { type: "run-end", calls: 0, results: 0, usedFallback: false },
    ]);
    expect((await thread.script()).at(-1)).toBe(
      "ai: I stopped here: the limit of tokens for this thread is reached.",
    );
    await say(thread, "hello once more");
    expect((await thread.script()).at(-1)).not.toContain("I stopped here");
  });

  it("refuses a run that raises a limit", async () => {
    const thread = await served.thread("budgeted");
    await expect(say(thread, "hello", { maxToolCallsPerThread: 4 })).rejects.toThrow(
      /Expected `maxToolCallsPerThread` to be at most 3, the limit of this graph/,
    );
  });
});
