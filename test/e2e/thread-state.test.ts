import { describe, expect, it } from "vitest";
import { messagesOf, pairedScript, script, user } from "../support/thread.js";
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
});

// Own keys of the state and the context, and teams of LangChain's packages, on a server.

async function schemasOf(graph: string) {
  const [assistant] = await served.client.assistants.search({ graphId: graph });
  return served.client.assistants.getSchemas(assistant?.assistant_id ?? "");
}

describe.concurrent("own keys of a served graph", () => {
  it("are in the schemas, beside the marks that clients look for", async () => {
    const { input_schema, output_schema, state_schema, context_schema } = await schemasOf("own_keys");
    const { context_schema: plain } = await schemasOf("agent");
    for (const schema of [input_schema, output_schema, state_schema]) {
      expect(schema?.properties).toMatchObject({
        messages: { langgraph_type: "messages" },
        plan: { type: "string", description: "What the agent is about to do." },
        count: { type: "number", default: 0 },
      });
      expect(schema?.required ?? []).not.toContain("plan");
    }
    // The values of the settings can differ: a graph shows its own.
    for (const name of Object.keys(plain?.properties ?? {}))
      expect(context_schema?.properties).toHaveProperty(name);
    expect(context_schema?.properties).toMatchObject({
      userId: { type: "string", default: "nobody", description: "Whom the agent works for." },
    });
    expect(context_schema?.required ?? []).toEqual([]);
  });
});

// A served graph whose messages are a delta channel.

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
