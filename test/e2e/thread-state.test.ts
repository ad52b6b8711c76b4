import type { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { messagesOf, pairedMessagesOf, pairedScript, script, user } from "../support/thread.js";
import { serve, type Thread } from "./served.js";

const served = serve();

/** A thread with one turn of two parallel calls. */
async function threadWithBatch(): Promise<Thread> {
  const thread = await served.thread("probe");
  await thread.send('call deaf {"label": "1"} and call deaf {"label": "2"}');
  return thread;
}

const update = (thread: Thread, ...messages: object[]) =>
  thread.client.threads.updateState(thread.id, { values: { messages } });

const REQUEST = 'human: call deaf {"label": "1"} and call deaf {"label": "2"}';
const ANSWER =
  "ai: Here is what the tools returned:\n- deaf returned: deaf done 1\n- deaf returned: deaf done 2";

describe.concurrent("updateState", () => {
  it("removes a message with calls together with its results", async () => {
    const thread = await threadWithBatch();
    const [, calling] = await thread.messages();
    await update(thread, { type: "remove", id: calling?.id });
    expect(await thread.script()).toEqual([REQUEST, ANSWER]);
    await thread.expectToGoOn();
  });

  it("removes a result, whose call the next message closes", async () => {
    const thread = await threadWithBatch();
    const result = (await thread.messages())[3];
    await update(thread, { type: "remove", id: result?.id });
    expect(script(await thread.messages())).toEqual([REQUEST, "ai> deaf deaf", "tool: deaf done 1", ANSWER]);

    const lines = await thread.send("hello");
    expect(lines.slice(0, 6)).toEqual([
      REQUEST,
      "ai> deaf deaf",
      "tool: deaf done 1",
      expect.stringMatching(/^tool! Tool call deaf .*: no result was recorded for it\./),
      ANSWER,
      "human: hello",
    ]);
    await thread.expectToGoOn();
  });

  it("removes an unknown id, and the thread stays readable and unchanged", async () => {
    const thread = await threadWithBatch();
    const before = await thread.messages();
    await update(thread, { type: "remove", id: "no-such-id" });
    expect(await thread.messages()).toEqual(before);
    await thread.expectToGoOn();
  });

  it("removes all messages", async () => {
    const thread = await threadWithBatch();
    await update(thread, { type: "remove", id: "__remove_all__" });
    expect(await thread.script()).toEqual([]);
    await thread.expectToGoOn();
  });

  it("edits a message so that it loses a call, and its result goes with it", async () => {
    const thread = await threadWithBatch();
    const calling = (await thread.messages())[1] as AIMessage;
    const [, second] = calling.tool_calls ?? [];
    await update(thread, { type: "ai", id: calling.id, content: "", tool_calls: [second] });
    expect(await thread.script()).toEqual([REQUEST, "ai> deaf", "tool: deaf done 2", ANSWER]);
    await thread.expectToGoOn();
  });

  it("edits a text in place", async () => {
    const thread = await threadWithBatch();
    const [first] = await thread.messages();
    await update(thread, { type: "human", id: first?.id, content: "edited" });
    expect((await thread.script())[0]).toBe("human: edited");
    expect(await thread.script()).toHaveLength(5);
    await thread.expectToGoOn();
  });

  it("refuses an orphan result, and the thread goes on", async () => {
    const thread = await threadWithBatch();
    await update(thread, { role: "tool", content: "nobody asked", tool_call_id: "call_unknown" });
    expect(await thread.script()).toHaveLength(5);
    await thread.expectToGoOn();
  });

  it("writes to a thread that has not run yet", async () => {
    const thread = await served.thread("probe");
    await served.client.runs.wait(thread.id, "probe", { input: user("hello") });
    await update(thread, { role: "user", content: "by update" });
    expect((await thread.script()).at(-1)).toBe("human: by update");
    await thread.expectToGoOn();
  });
});

/** The server remembers the checkpoint of a fork, and begins each later run there that names no other. */
async function expectForkToGoOn(thread: Thread): Promise<void> {
  const { checkpoint } = await thread.client.threads.getState(thread.id);
  await thread.expectToGoOn({ checkpoint });
}

describe.concurrent("the states of a thread", () => {
  it("are all in form, show the messages only, and can be read from the history", async () => {
    const thread = await threadWithBatch();
    await thread.send("hello");
    const history = await thread.client.threads.getHistory(thread.id, { limit: 50 });
    const states = history.map(({ values }) => values as { messages?: unknown[] });
    expect(states.every((values) => Object.keys(values).every((name) => name === "messages"))).toBe(true);
    const lengths = states.map((values) => (values.messages === undefined ? 0 : messagesOf(values).length));
    // The newest first: before the message, after it and after the answer, and before that a turn with a batch.
    expect(lengths).toEqual([7, 6, 5, 5, 4, 2, 1, 0]);
    const newest = await thread.client.threads.getState(thread.id);
    expect(newest.values).toEqual(history[0]?.values);
    expect(newest.next).toEqual([]);
  });

  it("can be forked before a batch was answered, and the fork is paired", async () => {
    const thread = await threadWithBatch();
    await thread.send("hello");
    const history = await thread.client.threads.getHistory(thread.id, { limit: 50 });
    const inBatch = history.find(({ next }) => next.includes("tools"));
    if (inBatch === undefined) throw new Error("Expected a checkpoint in the middle of the batch.");

    const values = await thread.client.runs.wait(thread.id, "probe", {
      input: user("another way"),
      checkpoint: inBatch.checkpoint,
    });
    expect(pairedScript(values).slice(0, 5)).toEqual([
      REQUEST,
      "ai> deaf deaf",
      "tool: deaf done 1",
      "tool: deaf done 2",
      "human: another way",
    ]);
    await expectForkToGoOn(thread);
  });

  it("can be forked at an earlier answer, without what came later", async () => {
    const thread = await threadWithBatch();
    const { checkpoint } = await thread.client.threads.getState(thread.id);
    await thread.send("this is left behind");
    const values = await thread.client.runs.wait(thread.id, "probe", {
      input: user("another way"),
      checkpoint,
    });
    expect(script(pairedMessagesOf(values)).slice(4, 6)).toEqual([ANSWER, "human: another way"]);
    await expectForkToGoOn(thread);
  });

  it("can be copied to another thread", async () => {
    const thread = await threadWithBatch();
    const copied = await thread.client.threads.copy(thread.id);
    const values = await thread.client.runs.wait(copied.thread_id, "probe", { input: user("hello") });
    expect(pairedScript(values).slice(0, 6)).toEqual([...(await thread.script()), "human: hello"]);
  });
});
