import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { initChatModel } from "langchain";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { makeTool } from "../../support/make-tool.js";
import { type ModelServer, type Respond, startModelServer } from "../../support/model-server.js";
import { openThread } from "../../support/open-thread.js";
import {
  answerFor,
  CALL_TEXT,
  FAULT_THREADS,
  PlainClient,
  respondToWish,
  shown,
  wish,
} from "../../support/stream-faults.js";

const looked: string[] = [];
const look = makeTool(
  "look",
  async ({ city }) => {
    looked.push(city);
    return `${city}: clear`;
  },
  z.object({ city: z.string() }),
);

type ModelFields = NonNullable<ConstructorParameters<typeof ChatOpenAI>[0]>;

function openServerThread(server: ModelServer, fields: Partial<ModelFields> = {}, options = {}) {
  const model = new ChatOpenAI({
    model: "test",
    apiKey: "x",
    maxRetries: 0,
    configuration: { baseURL: server.url },
    ...fields,
  } as ModelFields);
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options });
  const thread = openThread(graph);
  return {
    ...thread,
    /** One run. It rejects if the run fails. */
    send: async (text: string, signal?: AbortSignal) => {
      const run = await thread.send(text, signal);
      if (run.error !== undefined) throw run.error;
      return run;
    },
  };
}

describe("a model that", () => {
  const serverOf = async (respond: Respond, idOf?: () => string): Promise<ModelServer> => {
    const server = await startModelServer(respond, idOf);
    onTestFinished(() => server.stop());
    return server;
  };

  const streams = (server: ModelServer) => server.requests.map(({ stream }) => stream);

  it("streams a complete response is asked once, and its chunks arrive unchanged", async () => {
    const server = await serverOf(respondToWish("look"));
    const { events, parts } = await openServerThread(server).send(wish({ cities: ["whole"] }));
    expect(streams(server)).toEqual([true, true]);
    expect(parts.length).toBeGreaterThan(10);
    expect(events).toEqual([
      {
        type: "run-end",
        calls: 1,
        results: 1,
        usedFallback: false,
        usage: expect.objectContaining({ input_tokens: 20, output_tokens: 10, total_tokens: 30 }),
      },
    ]);
  });

  it.each([
    ["by a reset connection", "only the rest is sent", []],
    ["after another text", "the sent text is retracted", ["Quite another text"]],
  ] as const)("breaks %s: %s", async (fault, _, takenBack) => {
    const server = await serverOf(respondToWish("look"));
    const { parts } = await openServerThread(server).send(wish({ cities: ["rest"], fault, at: "answer" }));
    const texts = new Map<string, string>();
    const removed: (string | undefined)[] = [];
    for (const { type, id = "", text } of parts) {
      if (type === "remove") removed.push(texts.get(id));
      else if (type === "ai") texts.set(id, (texts.get(id) ?? "") + text);
    }
    expect(removed).toEqual(takenBack);
    expect([...texts.values()]).toEqual([CALL_TEXT, ...takenBack, answerFor(["rest"])]);
  });

  it("was made by `initChatModel` is also guarded", async () => {
    const server = await serverOf(respondToWish("look"));
    const model = await initChatModel("test", {
      modelProvider: "openai",
      apiKey: "x",
      configuration: { baseURL: server.url },
    });
    const request = {
      cities: ["init"],
      fault: "with cut-off arguments that are called finished",
      at: "call",
    } as const;
    const { messages } = await openServerThread(server, {}, { model }).send(wish(request));
    expect(messages.at(-1)?.text).toBe(answerFor(["init"]));
    expect(streams(server)).toEqual([true, false, true]);
    expect(server.requests[1]?.tools).toHaveLength(1);
  });

  it("is asked again gets the same request, tools and all, without streaming", async () => {
    const request = { cities: ["again"], fault: "by a reset connection", at: "call" } as const;
    const server = await serverOf(respondToWish("look"));
    await openServerThread(server).send(wish(request));
    const [first, second] = server.requests;
    expect(streams(server)).toEqual([true, false, true]);
    expect(second).toEqual({ ...first, stream: false });
    expect(second?.tools).toHaveLength(1);
  });

  it("has `streaming: true` is not streamed when it is asked again", async () => {
    const request = { cities: ["set"], fault: "without a finish reason", at: "answer" } as const;
    const server = await serverOf(respondToWish("look"));
    await openServerThread(server, { streaming: true }).send(wish(request));
    expect(streams(server)).toEqual([true, true, false]);
  });

  it.each([{ streaming: false }, { disableStreaming: true }])("has %o is never streamed", async (fields) => {
    const server = await serverOf(respondToWish("look"));
    const { messages } = await openServerThread(server, fields).send(wish({ cities: ["never"] }));
    expect(streams(server)).toEqual([false, false]);
    expect(messages.at(-1)?.text).toBe(answerFor(["never"]));
  });

  it("ends a text at the token limit is not asked again", async () => {
    const server = await serverOf(() => ({ text: "It is a long", finish: "length" }));
    const { messages, events } = await openServerThread(server).send("tell me");
    expect(messages.map(({ text }) => text)).toEqual(["It is a long"]);
    expect(streams(server)).toEqual([true]);
    expect(events).toMatchObject([{ type: "run-end", usedFallback: false }]);
  });

  it.each([0, 1, 3])(
    "never gives a complete response is asked again %i times, then fails; the history stays unchanged",
    async (max) => {
      const respond: Respond = () => ({ text: "", finish: "stop" });
      const server = await serverOf(respond);
      const thread = openServerThread(server, {}, { maxStreamFallbackAttempts: max });
      await expect(thread.send("x")).rejects.toMatchObject({ code: "MODEL_FAILED" });
      expect(streams(server)).toEqual([true, ...Array(max).fill(false)]);
      expect((await thread.read()).map(({ type }) => type)).toEqual(["human"]);
    },
  );

  it("always makes calls at the token limit fails, and no call of it is run", async () => {
    const respond: Respond = () => ({ calls: [{ name: "look", args: { city: "limit" } }], finish: "length" });
    const server = await serverOf(respond);
    await expect(openServerThread(server).send("x")).rejects.toThrow(/token limit.*3 times/);
    expect(looked).not.toContain("limit");
  });

  it("refuses when it is asked again has its refusal passed on", async () => {
    const respond: Respond = ({ stream }) =>
      stream ? { text: "I will say", fault: "by the end of its body" } : 400;
    const server = await serverOf(respond);
    await expect(openServerThread(server).send("x")).rejects.toMatchObject({ status: 400 });
    expect(streams(server)).toEqual([true, false]);
  });

  it("gives no finish reason is trusted after one complete response without it", async () => {
    const server = await serverOf(() => ({ text: "As ever.", finish: null }));
    const thread = openServerThread(server);
    for (const text of ["one", "two", "three"]) await thread.send(text);
    expect(streams(server)).toEqual([true, false, true, true]);
  });

  it("repeats its response id is shown in messages of their own", async () => {
    const server = await serverOf(respondToWish("look"), () => "chatcmpl-same");
    const thread = openServerThread(server);
    const client = new PlainClient();
    for (const fault of [undefined, "after another text", "by a reset connection"] as const) {
      const request = { cities: ["same"], at: "answer", ...(fault && { fault }) } as const;
      for (const part of (await thread.send(wish(request))).parts) client.add(part);
    }
    expect(shown(client.messages)).toEqual(shown(await thread.read()));
  });

  it("is aborted in the middle of its stream is not asked again", async () => {
    const abort = new AbortController();
    const respond: Respond = () => {
      setTimeout(() => abort.abort(), 20);
      return { text: "word ".repeat(20_000) };
    };
    const server = await serverOf(respond);
    const thread = openServerThread(server);
    await expect(thread.send("x", abort.signal)).rejects.toThrow(/abort/i);
    expect(streams(server)).toEqual([true]);
    expect((await thread.read()).map(({ type }) => type)).toEqual(["human"]);
  });

  it("breaks once has its own usage in the message, and the run's usage includes the broken response", async () => {
    const request = { cities: ["use"], fault: "with nothing in it", at: "answer" } as const;
    const server = await serverOf(respondToWish("look"));
    const thread = openServerThread(server);
    const { events } = await thread.send(wish(request));
    expect(events.at(-1)).toMatchObject({ usage: { total_tokens: 45 } });
    const last = (await thread.read()).at(-1);
    expect(last).toMatchObject({ usage_metadata: { total_tokens: 15 } });
  });
});

describe("a stream whose", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer(respondToWish("look"));
  });
  afterAll(() => server.stop());

  const threads = FAULT_THREADS.map((turns) => ({
    title: turns[0].title.replace("first turn", "both turns"),
    turns,
  }));

  it.concurrent.each(threads)("$title: the response is asked for again, and is whole", async ({ turns }) => {
    const thread = openServerThread(server);
    let known = 0;
    for (const fault of turns) {
      const { messages, events } = await thread.send(wish(fault));
      const state = await thread.read();

      expect(state.at(-1)?.text).toBe(answerFor(fault.cities));
      expect(shown(messages)).toEqual(shown(state.slice(known)));
      expect(messages.map(({ text }) => text)).toContain(CALL_TEXT);
      for (const city of fault.cities) expect(looked.filter((name) => name === city)).toEqual([city]);
      expect(events.map(({ type }) => type)).toEqual(["answer-broken", "run-end"]);
      const { length } = fault.cities;
      expect(events.at(-1)).toMatchObject({ calls: length, results: length, usedFallback: true });
      known = state.length;
    }
  });
});
