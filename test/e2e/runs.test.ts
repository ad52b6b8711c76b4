import type { StreamMode } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { messagesOf, pairedScript, user } from "../support/thread.js";
import { serve } from "./served.js";

const served = serve();

/** What one run streams in one mode. */
async function stream(
  graph: string,
  threadId: string | null,
  text: string,
  streamMode: string,
): Promise<unknown[]> {
  const { client } = served;
  const payload = { input: user(text), streamMode: streamMode as "values" };
  const parts =
    threadId === null
      ? client.runs.stream(null, graph, payload)
      : client.runs.stream(threadId, graph, payload);
  const found: unknown[] = [];
  for await (const { event, data } of parts) {
    if (event === "error") throw new Error(JSON.stringify(data));
    if (event !== "metadata") found.push(data);
  }
  return found;
}

const ANSWER = "6*7 = 42";

describe.concurrent("a run of the product's graph", () => {
  it("streams its text in pieces that make up the final text", async () => {
    const thread = await served.thread("agent");
    const parts = (await stream("agent", thread.id, "what is 6*7?", "messages-tuple")) as [
      { id: string; type: string; content: string },
      object,
    ][];
    const byId = new Map<string, string[]>();
    for (const [{ id, content, type }] of parts) {
      if (type.toLowerCase().startsWith("ai") && content !== "")
        byId.set(id, [...(byId.get(id) ?? []), content]);
    }
    const [last] = (await thread.messages()).slice(-1);
    const pieces = byId.get(last?.id ?? "") ?? [];
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe(ANSWER);
    expect([...byId.keys()]).toEqual([last?.id]);
    await thread.expectToGoOn();
  });

  it("streams its updates node by node, and a healthy turn has no other node than it needs", async () => {
    const thread = await served.thread("agent");
    const parts = (await stream("agent", thread.id, "what is 6*7 and what is 20+22?", "updates")) as object[];
    expect(parts.map((part) => Object.keys(part).join())).toEqual(["model", "tools", "tools", "model"]);
    expect(JSON.stringify(parts)).not.toContain("toolCalls");
    await thread.expectToGoOn();
  });

  it("streams its values, of which the last is the state, and all are in form", async () => {
    const thread = await served.thread("agent");
    const parts = (await stream("agent", thread.id, "what is 6*7?", "values")) as object[];
    expect(parts.map((part) => Object.keys(part).join())).toEqual(Array(4).fill("messages"));
    expect(pairedScript(parts.at(-1))).toEqual(await thread.script());
    await thread.expectToGoOn();
  });

  it("has only its end as a custom event if nothing went wrong", async () => {
    const thread = await served.thread("agent");
    expect(await stream("agent", thread.id, "what is 6*7?", "custom")).toEqual([
      expect.objectContaining({ type: "run-end", calls: 1, results: 1, usedFallback: false }),
    ]);
  });

  it("runs without a thread", async () => {
    const values = await served.client.runs.wait(null, "agent", { input: user("what is 6*7?") });
    expect(pairedScript(values).at(-1)).toBe(`ai: ${ANSWER}`);
    const parts = await stream("agent", null, "what is 6*7?", "values");
    expect(pairedScript(parts.at(-1)).at(-1)).toBe(`ai: ${ANSWER}`);
  });

  it("uses the server's store, over threads", async () => {
    const [one, two] = [await served.thread("agent"), await served.thread("agent")];
    await one.send("save a note: the harbour opens at nine");
    expect((await two.send("search my notes for harbour")).at(-1)).toContain("the harbour opens at nine");
  });
});

// Each stream mode of the server, alone and with all others, with and without subgraphs; and the newer protocol.

const MODES = [
  "values",
  "messages",
  "messages-tuple",
  "updates",
  "custom",
  "tools",
  "tasks",
  "checkpoints",
  "debug",
  "events",
] as const satisfies readonly StreamMode[];

const PRIVATE = /"(turn|summaryAttempt|place|parseError|messageId|__tether_run)"/;
const input = user('call heedful {"label": "s1"} and call heedful {"label": "s2"}');

const SCRIPT = [
  expect.stringMatching(/^human: call heedful/),
  "ai> heedful heedful",
  "tool: heedful done s1",
  "tool: heedful done s2",
  expect.stringMatching(/^ai: /),
];

/** What the server calls the events of a mode. */
const eventOf = (mode: (typeof MODES)[number]) => (mode === "messages-tuple" ? "messages" : mode);

async function streamed(graph: string, streamMode: StreamMode[], streamSubgraphs: boolean) {
  const thread = await served.thread(graph);
  const parts = [];
  for await (const part of served.client.runs.stream(thread.id, graph, {
    input,
    streamMode,
    streamSubgraphs,
  }))
    parts.push(part as { readonly event: string; readonly data: unknown });
  return { parts, script: await thread.script() };
}

const cases = (["probe", "parent", "plain_parent"] as const).flatMap((graph) =>
  [false, true].flatMap((subgraphs) => [
    ...(graph === "probe" ? MODES.map((mode) => ({ graph, subgraphs, name: mode, modes: [mode] })) : []),
    { graph, subgraphs, name: "all modes", modes: [...MODES] },
  ]),
);

describe.concurrent("the stream of a run", () => {
  it.each(cases)("of $graph with $name, subgraphs $subgraphs", async ({ graph, subgraphs, modes }) => {
    const { parts, script } = await streamed(graph, modes, subgraphs);
    expect(parts.filter(({ event }) => event.startsWith("error"))).toEqual([]);
    expect(script).toEqual(SCRIPT);
    const events = new Set(parts.map(({ event }) => event.split(/[|/]/)[0]));
    for (const mode of modes) {
      // What a graph does inside another one is told to those who ask for subgraphs.
      const isTold = graph === "probe" || subgraphs || !["custom", "tools"].includes(mode);
      if (isTold) expect([...events]).toContain(eventOf(mode));
    }
    // The events of a parent are its own.
    const own = graph === "probe" ? parts : parts.filter(({ event }) => event !== "events");
    expect(own.filter(({ data }) => PRIVATE.test(JSON.stringify(data)))).toEqual([]);
  });
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

// Structured responses of a served graph, as clients of the SDK read them.

const OSLO = { city: "Oslo", sunny: true };
const WISH = `call fast {"label": "weather"} then call Report ${JSON.stringify(OSLO)}`;

describe("A served graph with a response format", () => {
  it("returns the structured response, streams it and keeps it in the thread", async () => {
    const { client, id } = await served.thread("reporting");
    const values = await client.runs.wait(id, "reporting", { input: user(WISH) });
    expect(values).toMatchObject({ structuredResponse: OSLO });
    expect((await client.threads.getState(id)).values).toMatchObject({ structuredResponse: OSLO });

    const seen: unknown[] = [];
    const input = { ...user(`call Report {"city": "Rome", "sunny": false}`), structuredResponse: OSLO };
    for await (const { event, data } of client.runs.stream(id, "reporting", { input, streamMode: "values" }))
      if (event === "values") seen.push(Reflect.get(data, "structuredResponse"));
    expect(seen).toEqual([undefined, { city: "Rome", sunny: false }]);
  });

  it("shows the schema of the response in that of the state", async () => {
    const [assistant] = await served.client.assistants.search({ graphId: "reporting" });
    const schemas = await served.client.assistants.getSchemas(assistant?.assistant_id ?? "");
    const properties = { city: { type: "string" }, sunny: { type: "boolean" } };
    expect(schemas.output_schema?.properties?.["structuredResponse"]).toMatchObject({ properties });
  });
});
