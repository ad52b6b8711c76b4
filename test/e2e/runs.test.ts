/** What runs stream, one after the other and at once, and messages that steer them. */

import { randomUUID } from "node:crypto";
import { Client, type StreamMode } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { messagesOf, pairedScript, user } from "../support/thread.js";
import { serve, Thread, until } from "./served.js";

const served = serve();
const ANSWER = "6*7 = 42";

describe.concurrent("a run of the product's graph", () => {
  it("streams its text in pieces that make up the final text", async () => {
    const thread = await served.thread("agent");
    const parts = (await thread.stream(user("what is 6*7?"), "messages-tuple")) as [
      { id: string; type: string; content: string },
    ][];
    const pieces = parts.flatMap(([{ id, content, type }]) =>
      type.toLowerCase().startsWith("ai") && content !== "" ? [{ id, content }] : [],
    );
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.map(({ content }) => content).join("")).toBe(ANSWER);
    expect(new Set(pieces.map(({ id }) => id))).toEqual(new Set([(await thread.messages()).at(-1)?.id]));
    await thread.expectToGoOn();
  });

  it("streams its updates node by node, and a healthy turn has no other node than it needs", async () => {
    const thread = await served.thread("agent");
    const parts = await thread.stream(user("what is 6*7 and what is 20+22?"), "updates");
    expect(parts.map((part) => Object.keys(Object(part)).join())).toEqual([
      "model",
      "tools",
      "tools",
      "model",
    ]);
    expect(JSON.stringify(parts)).not.toContain("toolCalls");
    await thread.expectToGoOn();
  });

  it("streams its values, of which the last is the state, and all are in form", async () => {
    const thread = await served.thread("agent");
    const parts = await thread.stream(user("what is 6*7?"), "values");
    expect(parts.map((part) => Object.keys(Object(part)).join())).toEqual(Array(4).fill("messages"));
    expect(pairedScript(parts.at(-1))).toEqual(await thread.script());
    await thread.expectToGoOn();
  });

  it("has only its end as a custom event if nothing went wrong", async () => {
    const thread = await served.thread("agent");
    expect(await thread.stream(user("what is 6*7?"), "custom")).toEqual([
      expect.objectContaining({ type: "run-end", calls: 1, results: 1, usedFallback: false }),
    ]);
  });

  it("runs without a thread", async () => {
    const { runs } = served.client;
    const input = user("what is 6*7?");
    expect(pairedScript(await runs.wait(null, "agent", { input })).at(-1)).toBe(`ai: ${ANSWER}`);
    let last: unknown;
    for await (const { event, data } of runs.stream(null, "agent", { input, streamMode: "values" }))
      if (event === "values") last = data;
    expect(pairedScript(last).at(-1)).toBe(`ai: ${ANSWER}`);
  });

  it("uses the server's store, over threads", async () => {
    const [one, two] = [await served.thread("agent"), await served.thread("agent")];
    await one.send("save a note: the harbour opens at nine");
    expect((await two.send("search my notes for harbour")).at(-1)).toContain("the harbour opens at nine");
  });
});

// Each stream mode of the server, alone and with all others, with and without subgraphs; and the newer protocol.

const MODES = [
  ...(["values", "messages", "messages-tuple", "updates", "custom", "tools", "tasks"] as const),
  ...(["checkpoints", "debug", "events"] as const),
] satisfies StreamMode[];

const HANDLE = /"__tether_run"/;
const input = user('call heedful {"label": "s1"} and call heedful {"label": "s2"}');

const SCRIPT = [
  expect.stringMatching(/^human: call heedful/),
  "ai> heedful heedful",
  "tool: heedful done s1",
  "tool: heedful done s2",
  expect.stringMatching(/^ai: /),
];

const cases = (["probe", "parent", "plain_parent"] as const).flatMap((graph) =>
  [false, true].flatMap((streamSubgraphs) => [
    ...(graph === "probe"
      ? MODES.map((mode) => ({ graph, streamSubgraphs, name: mode, modes: [mode] }))
      : []),
    { graph, streamSubgraphs, name: "all modes", modes: [...MODES] },
  ]),
);

describe.concurrent("the stream of a run", () => {
  it.each(cases)(
    "of $graph with $name, subgraphs $streamSubgraphs",
    async ({ graph, streamSubgraphs, modes }) => {
      const thread = await served.thread(graph);
      const payload = { input, streamMode: modes as StreamMode[], streamSubgraphs };
      const parts: { readonly event: string; readonly data: unknown }[] = [];
      for await (const part of served.client.runs.stream(thread.id, graph, payload)) parts.push(part);
      expect(parts.filter(({ event }) => event.startsWith("error"))).toEqual([]);
      expect(await thread.script()).toEqual(SCRIPT);
      const events = parts.map(({ event }) => event.split(/[|/]/)[0]);
      for (const mode of modes) {
        // What a graph does inside another one is told to those who ask for subgraphs.
        const isTold = graph === "probe" || streamSubgraphs || !["custom", "tools"].includes(mode);
        if (isTold) expect(events).toContain(mode === "messages-tuple" ? "messages" : mode);
      }
      expect(parts.filter(({ data }) => HANDLE.test(JSON.stringify(data)))).toEqual([]);
    },
  );
});

it("The newer protocol streams a run, and its messages are those of the thread", async () => {
  const thread = await served.thread("probe");
  const stream = served.client.threads.stream(thread.id, { assistantId: "probe" });
  try {
    await stream.run.start({ input });
    const texts: string[] = [];
    for await (const message of stream.messages) texts.push(await message.text);
    const output = await stream.output;
    expect(pairedScript(output)).toEqual(SCRIPT);
    expect(texts.filter((text) => text !== "")).toEqual([messagesOf(output).at(-1)?.text]);
  } finally {
    await stream.close();
  }
  expect(await thread.script()).toEqual(SCRIPT);
});

it("A graph with a response format returns the structured response, streams it and keeps it in the thread", async () => {
  const oslo = { city: "Oslo", sunny: true };
  const thread = await served.thread("reporting");
  const wish = user(`call fast {"label": "weather"} then call Report ${JSON.stringify(oslo)}`);
  const values = await thread.invoke(wish.messages);
  expect(values).toMatchObject({ structuredResponse: oslo });
  expect((await thread.client.threads.getState(thread.id)).values).toMatchObject({
    structuredResponse: oslo,
  });
  const rome = { ...user(`call Report {"city": "Rome", "sunny": false}`), structuredResponse: oslo };
  const seen = (await thread.stream(rome, "values")).map((data) =>
    Reflect.get(Object(data), "structuredResponse"),
  );
  expect(seen).toEqual([undefined, { city: "Rome", sunny: false }]);
});

// Many runs at once on one thread, with each way in which a server treats them. With `SLOW_TESTS=1` there are twenty.

const RUNS = process.env["SLOW_TESTS"] === "1" ? 20 : 6;
const requestOf = (index: number) => `call deaf {"label": "multitask-${index}", "ms": 20} and call deaf`;

describe.concurrent("Runs at once on one served thread", () => {
  it.each(["enqueue", "interrupt", "rollback", "reject"] as const)(
    "leave, with %s, a paired history with every message of a run that succeeded, and the thread goes on",
    async (multitaskStrategy) => {
      const thread = await served.thread("probe");
      await thread.send("hello");
      const begun = await Promise.allSettled(
        Array.from({ length: RUNS }, (_, index) => thread.begin(requestOf(index), { multitaskStrategy })),
      );
      const list = () => thread.client.runs.list(thread.id, { limit: 100 });
      await until(async () => (await list()).every(({ status }) => !/pending|running/.test(status)));
      const statuses = new Map((await list()).map(({ run_id, status }) => [run_id, status]));
      const runs = begun.flatMap((outcome, index) =>
        outcome.status === "fulfilled" ? [{ index, status: statuses.get(outcome.value) }] : [],
      );
      const lines = await thread.script();
      const succeeded = runs.filter(({ status }) => status === "success");
      for (const { index } of succeeded) {
        expect(lines.filter((line) => line === `human: ${requestOf(index)}`)).toHaveLength(1);
        expect(lines).toContain(`tool: deaf done multitask-${index}`);
      }
      if (multitaskStrategy === "enqueue") expect(succeeded).toHaveLength(RUNS);
      else expect(succeeded.length).toBeGreaterThan(0);
      if (multitaskStrategy === "reject") expect(runs).toHaveLength(succeeded.length);
      // Takes the results of tools that ended after their runs were interrupted, in the places of their notices.
      await thread.send("hello again");
      await thread.expectToGoOn();
    },
  );
});

it.each(["create", "wait", "stream"])("a run of a thread that is gone is not found (%s)", async (how) => {
  const path = `/threads/${crypto.randomUUID()}/runs${how === "create" ? "" : `/${how}`}`;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ assistant_id: "agent", input: user("hello") });
  const response = await fetch(served.url + path, { method: "POST", headers, body });
  expect([response.status, await response.text()]).toEqual([404, "Thread not found"]);
});

// Messages from a second client, which are put into the store while a run of the first one goes on.

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
    const run = thread.stream(user(`call deaf {"label": "${label}", "ms": 1500} and call failing`), "custom");
    await until(() => served.hasLogged(`begin deaf:${label}`));
    await second.put({ text: "not a message" }, "damaged");
    await second.put(say("call deaf"), "a");
    const events = await run;
    expect((await thread.script()).slice(1)).toEqual([
      "ai> deaf failing",
      `tool: deaf done ${label}`,
      "tool! Error: `failing` failed.",
      "human: call deaf",
      "ai> deaf",
      "tool: deaf done -",
      expect.stringMatching(/^ai: /),
    ]);
    const steered = (await thread.messages()).find(({ text }) => text === "call deaf");
    expect(events).toMatchObject([
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
    await until(() => served.hasLogged(`begin deaf:${label}`));
    await expect(thread.update(say("x"))).rejects.toMatchObject({ status: 409 });
    await second.put(say("hello"));
    await until(async () => (await second.keys()).length === 0);
    expect(await thread.script()).toContain("human: hello");
  });

  it("leaves a message for a thread without a run, and a run without input answers it", async () => {
    const thread = await served.thread("agent");
    const second = secondClient(thread);
    await second.put(say("what is 6*7?"));
    expect(await second.keys()).toHaveLength(1);
    await thread.invoke([]);
    expect(await thread.script()).toEqual([
      "human: what is 6*7?",
      "ai> calculator",
      "tool: 42",
      `ai: ${ANSWER}`,
    ]);
    expect(await second.keys()).toEqual([]);
  });
});

it("A served agent with budgets never runs more calls than the thread may have, and says why", async () => {
  const callOf = (...labels: readonly string[]) =>
    user(labels.map((label) => `call deaf {"label": "budget-${label}"}`).join(" and "));
  const begun = (beginning: string) =>
    served.log().filter((line) => line.startsWith(`begin deaf:budget-${beginning}`)).length;
  const thread = await served.thread("budgeted");
  await thread.stream(callOf("a1", "a2"), "custom");
  const { thread_id } = (await thread.client.threads.copy(thread.id)) as { thread_id: string };
  expect(await thread.stream(callOf("a3", "a4"), "custom")).toMatchObject([
    { type: "limit-reached", limit: "max-tool-calls-per-thread" },
    { type: "run-end", usage: { models: { offline: { output_tokens: expect.any(Number) } } } },
  ]);
  expect(begun("a")).toBe(2);
  expect((await thread.script()).slice(-3, -1)).toEqual(
    Array(2).fill("tool! Not run: the limit of tool calls for this thread is reached."),
  );
  // The copy of a thread has used what the thread had used.
  const copy = new Thread(served.client, "budgeted", thread_id);
  const [warned] = await copy.stream(callOf("b1"), "custom");
  expect(warned).toMatchObject({ type: "limit-near", limit: "max-tool-calls-per-thread", used: 3, max: 3 });
  await copy.stream(callOf("b2"), "custom");
  expect(begun("b")).toBe(1);
  await copy.script();
});
