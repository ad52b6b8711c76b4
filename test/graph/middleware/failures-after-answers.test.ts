/** What clients were already sent: failures after it, thrown values, `readOnly`, and a secret that is taken out. */

import { inspect } from "node:util";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AgentGraphOptions, chatMiddleware, MiddlewareTermination } from "../../../src/index.js";
import {
  createRedactingGraph,
  pieces,
  reasoningSteps,
  respondWithSecret,
  SECRET,
  USERS_SECRET,
} from "../../fixtures/middleware/redacting-graph.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { openAIAt } from "../../support/clients.js";
import { Listener } from "../../support/listener.js";
import { afterNext, type Change, insteadOfNext, set, throwing } from "../../support/middleware.js";
import { type Fault, startModelServer } from "../../support/model-server.js";
import { calls, PlayedModel } from "../../support/models.js";
import { ScriptedModel } from "../../support/scripted-model.js";
import { PlainClient } from "../../support/stream-faults.js";
import { rowsOf } from "../../support/test-tools.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

const config = inThread("1");
const readOnly = (change: Change<"chat">) => ({
  middleware: [afterNext("chat", change, { readOnly: true })],
});
const boom = throwing(new Error("boom"));
const CHANGED =
  /^MiddlewareError: .*`\{ readOnly: true \}` changed `context.result`, which the client already has/;
const BOOM = /^Error: boom$/;
const writing =
  (fields: object): Change<"chat"> =>
  ({ result }) =>
    result && Object.assign(result, fields);

const FAILURES = rowsOf<[options: Partial<AgentGraphOptions>, thrown: RegExp]>({
  "a chat middleware throws": [readOnly(boom), BOOM],
  "a readOnly middleware sets another result": [readOnly(set({ result: "changed" })), CHANGED],
  "a readOnly middleware writes into the result": [readOnly(writing({ content: "mine" })), CHANGED],
  "a readOnly middleware adds a field to the result": [readOnly(writing({ name: "mine" })), CHANGED],
  "a readOnly middleware takes the result back": [readOnly(set({ result: undefined })), CHANGED],
  "a readOnly middleware ends the run with another result": [
    readOnly(throwing(new MiddlewareTermination("bye"))),
    CHANGED,
  ],
  "the predicate of requireApproval throws": [{ requireApproval: boom }, BOOM],
});

it.each(FAILURES)(
  "A response that was sent is taken back, and not stored, if %s.",
  async (_what, options, thrown) => {
    const response = "requireApproval" in options ? calls(["fast"]) : "one two";
    const thread = agentThread([response], options);
    const { error, parts, messages } = await thread.send("go");
    expect(String(error)).toMatch(thrown);
    expect(parts.map(({ type }) => type)).toContain("ai");
    expect(messages).toEqual([]);
    expect(await thread.lines()).toEqual(["human: go"]);
    expect(thread.runs).toEqual([]);
  },
);

it.each([null, undefined, 0, "no", Symbol("no"), Object.freeze(new Error("frozen"))])(
  "A thrown value reaches the caller unchanged, and the thread goes on: %s",
  async (thrown) => {
    const failures = [throwing(thrown)];
    const middleware = [
      chatMiddleware(async (_context, next) => {
        failures.pop()?.();
        await next();
      }),
    ];
    const thread = agentThread(["done"], { middleware });
    const caught = await thread.invoke().then(
      () => expect.unreachable("It did not throw."),
      (error: unknown) => ({ error }),
    );
    expect(caught.error).toBe(thrown);
    expect((await thread.run("again")).at(-1)).toBe("ai: done");
  },
);

/** Streams chunks of a call that is cut off, and returns a complete response when it is asked again. */
class CutOff extends PlayedModel {
  readonly #answers: AIMessageChunk[][];

  constructor(streamed: string | undefined, whole: string | undefined) {
    super();
    const identified = (id: string | undefined) => (id === undefined ? {} : { id });
    const piece = { name: "fast", args: '{"label": "1', id: "z", index: 0, type: "tool_call_chunk" as const };
    this.#answers = [
      [new AIMessageChunk({ ...identified(streamed), content: "par", tool_call_chunks: [piece] })],
      [new AIMessageChunk({ ...identified(whole), content: "whole text" })],
    ];
  }

  protected override async play(): Promise<readonly AIMessageChunk[]> {
    return this.#answers.shift() ?? [];
  }
}

const IDS = ["X", undefined, "run-X"];

it.each(IDS.flatMap((streamed) => IDS.map((whole) => [streamed, whole] as const)))(
  "A broken stream that is asked for again is shown once, with the ids %s and then %s",
  async (streamed, whole) => {
    const { send, messages } = agentThread([], { model: new CutOff(streamed, whole) });
    const client = await send("go");
    const stored = (await messages()).slice(1);
    const seen = (list: readonly BaseMessage[]) => list.map(({ id, text }) => [id, text]);
    expect(seen(client.messages)).toEqual(seen(stored));
    expect(stored.map(({ text }) => text)).toEqual(["whole text"]);
  },
);

describe("readOnly", () => {
  const IN_PIECES = ["one ", "two ", "three"];
  it.each<[options: { readOnly?: boolean }[], pieces: string[]]>([
    [[{ readOnly: true }, { readOnly: true }], IN_PIECES],
    [[{}], ["one two three"]],
    [[{ readOnly: true }, {}], ["one two three"]],
  ])("of all middleware lets the response stream as it arrives: %j", async (options, texts) => {
    const happened: string[] = [];
    const middleware = options.map((option) => afterNext("chat", () => happened.push("after"), option));
    const { graph } = agentThread(["one two three"], { middleware });
    for await (const [message] of await graph.stream(user("go"), { ...config, streamMode: "messages" }))
      if (message.text !== "") happened.push(message.text);
    const after = options.map(() => "after");
    if (texts !== IN_PIECES) expect(happened).toEqual([...after, ...texts]);
    else expect(happened.filter((what) => what !== "after")).toEqual(texts);
    expect(happened[0]).toBe(texts === IN_PIECES ? "one " : "after");
  });

  it("allows a response without the model", async () => {
    const answer = insteadOfNext("chat", set({ result: "mine" }), { readOnly: true });
    expect(await agentThread([], { middleware: [answer] }).run()).toEqual(["human: go", "ai: mine"]);
  });
});

// A chat middleware that redacts a secret: the secret is in no stream, no state and no checkpoint.

type Graph = ReturnType<typeof createRedactingGraph>["graph"];
const MODES = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints", "tools"] as const;
const input = () => user(`Note the code, ${USERS_SECRET}.`);
const everything = (value: unknown) =>
  inspect(value, { depth: null, maxStringLength: null, maxArrayLength: null });

/** All values that the caller of the graph receives, as they arrived. */
const WAYS: Readonly<Record<string, (graph: Graph) => Promise<unknown[]>>> = {
  invoke: async (graph) => [await graph.invoke(input(), { ...config, callbacks: [new Listener()] })],
  "stream in all modes": async (graph) => {
    const client = new PlainClient();
    const given: unknown[] = [client];
    const options = { ...config, streamMode: [...MODES], subgraphs: true };
    for await (const part of await graph.stream(input(), options as never)) {
      const [, mode, data] = part as unknown as [unknown, string, [BaseMessage]];
      // Copied, because joining changes chunks.
      given.push(everything(part));
      if (mode === "messages") client.add(data[0]);
    }
    return given;
  },
  ...Object.fromEntries(
    ["v1", "v2", "v3"].map((version) => [
      `streamEvents ${version}`,
      (graph: Graph) => allOf(graph.streamEvents(input(), { ...config, version } as never)),
    ]),
  ),
};

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
  const all = [...given.map(everything), ...kept.map(stored)].join("\n");
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

describe.each(Object.entries(WAYS))("A secret that is taken out, through %s, of", (_way, run) => {
  it.each(STREAMS)("a stream that %s", async (_title, fault) => {
    const server = await startModelServer(respondWithSecret(() => fault));
    onTestFinished(() => server.stop());
    const model = openAIAt(server.url, { model: "test", streamUsage: false });
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
