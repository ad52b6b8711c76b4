/** Failures after the client was sent the response, and thrown values that are not errors. */

import { inspect } from "node:util";
import { AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type AgentGraphOptions,
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  MiddlewareError,
  MiddlewareTermination,
  type Next,
} from "../../../src/index.js";
import {
  createRedactingGraph,
  pieces,
  reasoningSteps,
  respondWithSecret,
  SECRET,
  USERS_SECRET,
} from "../../fixtures/middleware/redacting-graph.js";
import { allOf } from "../../support/all-of.js";
import { openAIAt } from "../../support/clients.js";
import { type Fault, startModelServer } from "../../support/model-server.js";
import { PlayedModel } from "../../support/played-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, ScriptedModel, type Step, scripted } from "../../support/scripted-model.js";
import { PlainClient } from "../../support/stream-faults.js";
import { pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };
type Handle = (context: ChatContext, next: Next) => Promise<void>;

const after = (fail: (context: Parameters<Handle>[0]) => void): Partial<AgentGraphOptions> => ({
  middleware: [
    chatMiddleware(
      async function failing(context, next) {
        await next();
        fail(context);
      },
      { readOnly: true },
    ),
  ],
});

const boom = () => {
  throw new Error("boom");
};

interface Case {
  readonly what: string;
  readonly options: Partial<AgentGraphOptions>;
  readonly answer: Step;
  readonly thrown: string;
}

const cases: readonly Case[] = [
  { what: "a chat middleware throws", options: after(boom), answer: "one two", thrown: "boom" },
  {
    what: "a chat middleware changes what it promised to keep",
    options: after((context) => {
      context.result = "changed";
    }),
    answer: "one two",
    thrown: "changed `context.result`, which the client already has",
  },
  {
    what: "a chat middleware ends the run with another result",
    options: after(() => {
      throw new MiddlewareTermination("bye");
    }),
    answer: "one two",
    thrown: "changed `context.result`, which the client already has",
  },
  {
    what: "the predicate of requireApproval throws",
    options: { requireApproval: boom },
    answer: calls(["fast"]),
    thrown: "boom",
  },
];

describe("a response that the client was already sent", () => {
  it.each(cases)("is taken back when $what", async ({ options, answer, thrown }) => {
    const probe = createProbe();
    const graph = createAgentGraph({
      model: scripted(answer),
      tools: [probe.fast],
      checkpointer: new MemorySaver(),
      ...options,
    });
    const client = new PlainClient();
    const types: string[] = [];
    const run = async () => {
      for await (const [message] of await graph.stream(user("go"), { ...config, streamMode: "messages" })) {
        types.push(message.type);
        client.add(message);
      }
    };
    await expect(run()).rejects.toThrow(thrown);
    expect(types).toContain("ai");
    expect(client.messages).toEqual([]);
    expect(pairedScript((await graph.getState(config)).values)).toEqual(["human: go"]);
    expect(probe.runs).toEqual([]);
  });
});

describe("a thrown value that is not an error", () => {
  it.each([null, undefined, 0, "no", Symbol("no"), Object.freeze(new Error("frozen"))])(
    "reaches the caller unchanged: %s",
    async (thrown) => {
      let isFirst = true;
      const throwing = chatMiddleware(async (_context, next) => {
        if (!isFirst) return next();
        isFirst = false;
        throw thrown;
      });
      const graph = createAgentGraph({
        model: scripted("done"),
        middleware: [throwing],
        checkpointer: new MemorySaver(),
      });
      const caught = await graph.invoke(user("go"), config).then(
        () => expect.unreachable("It did not throw."),
        (error: unknown) => ({ error }),
      );
      expect(caught.error).toBe(thrown);
      expect(pairedScript(await graph.invoke(user("again"), config)).at(-1)).toBe("ai: done");
    },
  );
});

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

describe("a broken stream that is asked for again without streaming", () => {
  const ids = ["X", undefined, "run-X"];
  const pairs = ids.flatMap((streamed) => ids.map((whole) => [streamed, whole] as const));

  it.each(pairs)("is shown once, with the ids %s and then %s", async (streamed, whole) => {
    const graph = createAgentGraph({
      model: new CutOff(streamed, whole),
      tools: [createProbe().fast],
      checkpointer: new MemorySaver(),
    });
    const client = new PlainClient();
    for await (const [message] of await graph.stream(user("go"), { ...config, streamMode: "messages" }))
      client.add(message);
    const stored = pairedMessagesOf((await graph.getState(config)).values).slice(1);
    const seen = (messages: typeof stored) => messages.map(({ id, text }) => [id, text]);
    expect(seen(client.messages)).toEqual(seen(stored));
    expect(stored.map(({ text }) => text)).toEqual(["whole text"]);
  });
});

/** What happens in one streamed run, in order: pieces of text, and what the middleware does behind `next()`. */
async function happenings(options: readonly { readOnly?: boolean }[]): Promise<string[]> {
  const happened: string[] = [];
  const middleware = options.map((option) =>
    chatMiddleware(async function watch(_context, next) {
      await next();
      happened.push("after");
    }, option),
  );
  const graph = createAgentGraph({ model: scripted("one two three"), middleware });
  for await (const [message] of await graph.stream(user("go"), { streamMode: "messages" }))
    if (message.text !== "") happened.push(message.text);
  return happened;
}

describe("readOnly", () => {
  it("streams the response as it arrives, if all middleware is readOnly", async () => {
    const happened = await happenings([{ readOnly: true }, { readOnly: true }]);
    expect(happened.filter((what) => what !== "after")).toEqual(["one ", "two ", "three"]);
    expect(happened.indexOf("one ")).toBeLessThan(happened.indexOf("after"));
  });

  it.each([[[{}]], [[{ readOnly: true }, {}]]])(
    "holds the answer until all have seen it: %j",
    async (options) => {
      expect(await happenings(options)).toEqual([...options.map(() => "after"), "one two three"]);
    },
  );

  const CHANGES = Object.entries<Handle>({
    "sets another result": async (context, next) => {
      await next();
      context.result = "mine";
    },
    "writes into the result": async (context, next) => {
      await next();
      if (context.result !== undefined) context.result.content = "mine";
    },
    "adds a field to the result": async (context, next) => {
      await next();
      if (context.result !== undefined) context.result.name = "mine";
    },
    "takes the result back": async (context, next) => {
      await next();
      context.result = undefined;
    },
  });

  it.each(CHANGES)("fails a middleware that %s, and the response is not stored", async (_what, handle) => {
    const graph = createAgentGraph({
      model: scripted("done"),
      middleware: [chatMiddleware(handle, { readOnly: true })],
      checkpointer: new MemorySaver(),
    });
    const run = graph.invoke(user("go"), config);
    await expect(run).rejects.toBeInstanceOf(MiddlewareError);
    await expect(run).rejects.toThrow("`{ readOnly: true }` changed `context.result`");
    expect(pairedScript((await graph.getState(config)).values)).toEqual(["human: go"]);
  });

  it("allows a response without the model", async () => {
    const answer = chatMiddleware(
      async (context) => {
        context.result = "mine";
      },
      { readOnly: true },
    );
    const graph = createAgentGraph({ model: scripted(), middleware: [answer] });
    expect(pairedScript(await graph.invoke(user("go")))).toEqual(["human: go", "ai: mine"]);
  });
});

// A chat middleware that redacts a secret: the secret is in no stream, no state and no checkpoint.

type Graph = ReturnType<typeof createRedactingGraph>["graph"];
const MODES = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints", "tools"] as const;

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
    const given = await allOf(graph.streamEvents(input(), { ...config, version: "v3" } as never));
    return given;
  },
};

async function events(graph: Graph, version: "v1" | "v2"): Promise<unknown[]> {
  const given = await allOf(graph.streamEvents(input(), { ...config, version }));
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
