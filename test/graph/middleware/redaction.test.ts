/** A chat middleware that redacts a secret: the secret is in no stream, no state and no checkpoint. */

import { inspect } from "node:util";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createRedactingGraph,
  pieces,
  reasoningSteps,
  respondWithSecret,
  SECRET,
  USERS_SECRET,
} from "../../fixtures/middleware/redacting-graph.js";
import { type Fault, startModelServer } from "../../support/model-server.js";
import { ScriptedModel } from "../../support/scripted-model.js";
import { PlainClient } from "../../support/stream-faults.js";
import { pairedMessagesOf, pairedScript } from "../../support/thread.js";

type Graph = ReturnType<typeof createRedactingGraph>["graph"];

const MODES = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints", "tools"] as const;
const config = { configurable: { thread_id: "1" } };
const input = () => ({
  messages: [new HumanMessage(`Note the code, ${USERS_SECRET}.`)],
});

/** All values that the caller of the graph receives, as they arrived. */
const WAYS: Readonly<Record<string, (graph: Graph) => Promise<unknown[]>>> = {
  invoke: async (graph) => [await graph.invoke(input(), config)],
  "stream in all modes": async (graph) => {
    const client = new PlainClient();
    const given: unknown[] = [client];
    const options = { ...config, streamMode: [...MODES], subgraphs: true };
    for await (const part of await graph.stream(input(), options as never)) {
      const [, mode, data] = part as unknown as [unknown, string, [BaseMessage]];
      // Copied, because joining changes chunks.
      given.push(inspect(part, { depth: null, maxStringLength: null, maxArrayLength: null }));
      if (mode === "messages") client.add(data[0]);
    }
    return given;
  },
  "streamEvents v1": (graph) => events(graph, "v1"),
  "streamEvents v2": (graph) => events(graph, "v2"),
  "streamEvents v3": async (graph) => {
    const given: unknown[] = [];
    for await (const event of await graph.streamEvents(input(), { ...config, version: "v3" } as never))
      given.push(event);
    return given;
  },
};

async function events(graph: Graph, version: "v1" | "v2"): Promise<unknown[]> {
  const given: unknown[] = [];
  for await (const event of graph.streamEvents(input(), { ...config, version })) given.push(event);
  return given;
}

/** All stored values, decoded. */
function stored(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Map) return stored([...value]);
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([key, entry]) => `${key}: ${stored(entry)}`)
    .join("\n");
}

async function expectNoSecret(graph: Graph, given: unknown[], kept: object[]): Promise<void> {
  const text = given.map((part) =>
    inspect(part, { depth: null, maxStringLength: null, maxArrayLength: null }),
  );
  const all = [...text, ...kept.map(stored)].join("\n");
  expect(all).toContain("[redacted]");
  expect(pieces(SECRET).filter((piece) => all.includes(piece))).toEqual([]);
  const { values } = await graph.getState(config);
  expect(pairedScript(values).slice(1)).toEqual([
    "ai> note",
    expect.stringMatching(/^tool: noted .*\[redacted\]$/),
    expect.stringMatching(/^ai: It is \[redacted\]/),
  ]);
  // The user's message is redacted only for the model.
  expect(pairedMessagesOf(values)[0]?.text).toContain(USERS_SECRET);
}

const STREAMS: readonly (readonly [title: string, fault: Fault | undefined])[] = [
  ["is whole", undefined],
  ["breaks by a reset connection", "by a reset connection"],
  ["is cut off in its arguments", "with cut-off arguments that are called finished"],
  ["breaks after another text", "after another text"],
];

describe.each(Object.entries(WAYS))("through %s", (_way, run) => {
  it.each(STREAMS)("a stream that %s", async (_title, fault) => {
    const server = await startModelServer(respondWithSecret(() => fault));
    onTestFinished(() => server.stop());
    const model = new ChatOpenAI({
      model: "test",
      apiKey: "x",
      configuration: { baseURL: server.url },
      streamUsage: false,
    });
    const [checkpointer, store] = [new MemorySaver(), new InMemoryStore()];
    const { graph, noted } = createRedactingGraph({ model, checkpointer, store });
    await expectNoSecret(graph, await run(graph), [checkpointer, store]);
    expect(noted).toEqual(["the code [redacted]"]);
    expect(JSON.stringify(server.requests)).not.toContain(USERS_SECRET);
  });

  it("a model that thinks aloud", async () => {
    const [checkpointer, store] = [new MemorySaver(), new InMemoryStore()];
    const model = new ScriptedModel(reasoningSteps);
    const { graph } = createRedactingGraph({ model, checkpointer, store });
    await expectNoSecret(graph, await run(graph), [checkpointer, store]);
    expect(model.violations()).toEqual([]);
  });
});
