/** The states of served threads, with each channel: read, updated, forked and copied; and the schemas of the graphs. */

import { describe, expect, it } from "vitest";
import { messagesOf, pairedScript } from "../support/thread.js";
import { serve, Thread } from "./served.js";

const served = serve();
const BATCH = 'call deaf {"label": "1"} and call deaf {"label": "2"}';
const RESULTS = ["tool: deaf done 1", "tool: deaf done 2"];

/** A thread with one turn of two parallel calls. */
async function threadWithBatch(graph = "probe"): Promise<Thread> {
  const thread = await served.thread(graph);
  await thread.send(BATCH);
  return thread;
}

describe.concurrent("A result that an update removes", () => {
  it("leaves a call that the next message closes", async () => {
    const thread = await threadWithBatch();
    const [first, calls, one, result, answer] = await thread.messages();
    await thread.update({ type: "remove", id: result?.id });
    expect((await thread.messages()).map(({ id }) => id)).toEqual(
      [first, calls, one, answer].map((each) => each?.id),
    );
    expect((await thread.send("hello")).slice(0, 6)).toEqual([
      `human: ${BATCH}`,
      "ai> deaf deaf",
      "tool: deaf done 1",
      expect.stringMatching(/^tool! Tool call deaf .*: no result was recorded for it\./),
      `ai: ${answer?.text}`,
      "human: hello",
    ]);
    await thread.expectToGoOn();
  });
});

describe.concurrent("The states of a thread", () => {
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
    const lines = await thread.send("another way", { checkpoint: inBatch.checkpoint });
    expect(lines.slice(0, 5)).toEqual([`human: ${BATCH}`, "ai> deaf deaf", ...RESULTS, "human: another way"]);
    // The server remembers the checkpoint of a fork, and begins each later run there that names no other.
    const { checkpoint } = await thread.client.threads.getState(thread.id);
    await thread.expectToGoOn({ checkpoint });
  });
});

describe.concurrent("A thread over a delta channel", () => {
  it("is updated, and its history and forks are right", async () => {
    const thread = await threadWithBatch("probe_delta");
    const { threads } = thread.client;
    const first = await thread.script();
    const { checkpoint } = await threads.getState(thread.id);
    await thread.send("hello");
    await thread.update({ role: "user", content: "by update" });
    expect((await thread.script()).at(-1)).toBe("human: by update");
    await thread.expectToGoOn();

    const whole = await thread.script();
    const history = await threads.getHistory(thread.id, { limit: 1000 });
    expect(pairedScript(history[0]?.values)).toEqual(whole);
    const lengths = history.map(({ values }) => ("messages" in values ? messagesOf(values).length : 0));
    expect(lengths).toEqual(lengths.toSorted((one, other) => other - one));

    const at = { checkpoint: { ...checkpoint, checkpoint_map: {} } } as never;
    const forked = await thread.send("another way", at);
    expect(forked.slice(0, first.length + 1)).toEqual([...first, "human: another way"]);
    expect(await thread.script()).toEqual(forked);
  });

  it("is copied whole, and the copy goes on alone", async () => {
    const thread = await threadWithBatch("probe_delta");
    const lines = await thread.send("hello");
    const { thread_id } = (await thread.client.threads.copy(thread.id)) as unknown as { thread_id: string };
    const copy = new Thread(thread.client, thread.graph, thread_id);
    expect(await copy.script()).toEqual(lines);
    expect((await copy.send("hello")).slice(0, lines.length + 1)).toEqual([...lines, "human: hello"]);
    expect(await thread.script()).toEqual(lines);
  });
});

async function schemasOf(graphId: string) {
  const [assistant] = await served.client.assistants.search({ graphId });
  return served.client.assistants.getSchemas(assistant?.assistant_id ?? "");
}

describe.concurrent("The schemas", () => {
  it("of the product's graph show a chat input and a form of settings, none of them required, and no private channel", async () => {
    const schemas = await schemasOf("agent");
    expect(schemas.input_schema).toMatchObject({ type: "object" });
    expect(schemas.input_schema?.required ?? []).toEqual([]);
    for (const schema of [schemas.input_schema, schemas.output_schema, schemas.state_schema])
      expect(schema?.properties).toEqual({
        messages: expect.objectContaining({ langgraph_type: "messages" }),
      });

    const { properties = {}, required = [] } = schemas.context_schema ?? {};
    const integers = [
      ...["maxToolCallsFromHistory", "maxTokensBeforeSummary", "maxMessagesBeforeSummary", "messagesToKeep"],
      ...["tokensToKeep", "maxIterations", "maxToolCalls", "maxToolCallsPerThread", "maxTokensPerTurn"],
      ...["maxTokensPerThread", "maxConsecutiveErrors"],
    ];
    const form = { title: expect.stringMatching(/^[A-Z]/), description: expect.any(String) };
    const fields = Object.entries({
      ...{
        model: { type: "string" },
        systemPrompt: { type: "string" },
        toolChoice: { anyOf: expect.any(Array) },
      },
      ...Object.fromEntries(integers.map((name) => [name, { type: "integer" }])),
    });
    expect(properties).toEqual(
      Object.fromEntries(fields.map(([name, kind]) => [name, expect.objectContaining({ ...form, ...kind })])),
    );
    expect(required).toEqual([]);
    expect(properties).toMatchObject({
      model: { title: "Model", default: "offline:", enum: ["offline:"] },
      maxToolCalls: { title: "Max tool calls", default: 64, maximum: 64 },
      messagesToKeep: { default: 6 },
    });
    expect(properties["maxTokensPerTurn"]).not.toHaveProperty("default");
    expect(JSON.stringify(properties)).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });

  it("have the own keys of a graph, beside the marks that clients look for", async () => {
    const { input_schema, output_schema, state_schema, context_schema } = await schemasOf("own_keys");
    for (const schema of [input_schema, output_schema, state_schema]) {
      expect(schema?.properties).toMatchObject({
        messages: { langgraph_type: "messages" },
        plan: { type: "string", description: "What the agent is about to do." },
        count: { type: "number", default: 0 },
      });
      expect(schema?.required ?? []).not.toContain("plan");
    }
    // The values of the settings can differ: a graph shows its own.
    const { context_schema: plain } = await schemasOf("agent");
    for (const name of Object.keys(plain?.properties ?? {}))
      expect(context_schema?.properties).toHaveProperty(name);
    const userId = { type: "string", default: "nobody", description: "Whom the agent works for." };
    expect(context_schema?.properties).toMatchObject({ userId });
    expect(context_schema?.required ?? []).toEqual([]);
  });

  it("have the schema of a structured response", async () => {
    const { output_schema } = await schemasOf("reporting");
    const properties = { city: { type: "string" }, sunny: { type: "boolean" } };
    expect(output_schema?.properties?.["structuredResponse"]).toMatchObject({ properties });
  });
});
