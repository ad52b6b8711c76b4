/** Failures after the client was sent the response, and thrown values that are not errors. */

import { AIMessageChunk } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentGraphOptions,
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  MiddlewareTermination,
  type Next,
} from "../../../src/index.js";
import { PlayedModel } from "../../support/played-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
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
