import { MemorySaver } from "@langchain/langgraph";
import { initChatModel } from "langchain";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { createLook } from "../support/chain-script.js";
import { openAIAt } from "../support/clients.js";
import { type ModelServer, type Respond, startModelServer } from "../support/model-server.js";
import { MANNERS, type Manner, openThread } from "../support/open-thread.js";
import {
  answerFor,
  CALL_TEXT,
  FAULT_SAMPLE,
  FAULT_THREADS,
  hasFault,
  PlainClient,
  respondToWish,
  shown,
  wish,
} from "../support/stream-faults.js";
import { OLD_PACKAGES, passOverWarnings } from "../support/test-tools.js";
import { script } from "../support/thread.js";

// LangChain warns of a call that it cannot read in a response in one piece.
passOverWarnings(OLD_PACKAGES);

const IS_SLOW = process.env["SLOW_TESTS"] === "1";

interface Opened {
  /** Of the client. */
  readonly fields?: object;
  /** Of the graph. */
  readonly options?: object;
  readonly manner?: Manner;
}

function openServerThread(server: ModelServer, { fields, options, manner }: Opened = {}) {
  const model = openAIAt(server.url, { model: "test", ...fields });
  const { look, looked } = createLook();
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options });
  const thread = openThread(graph);
  /** One run. It rejects if the run fails. */
  const send = async (text: string, signal?: AbortSignal) => {
    const run = await thread.send(text, signal, manner);
    if (run.error !== undefined) throw run.error;
    return run;
  };
  return { ...thread, send, looked };
}

/** A server for one test, and a thread of a model there. */
async function serve(opened: Opened = {}, respond: Respond = respondToWish("look")) {
  const server = await startModelServer(respond);
  onTestFinished(() => server.stop());
  const thread = openServerThread(server, opened);
  return { ...thread, server, streams: () => server.requests.map(({ stream }) => stream) };
}

describe("a model that", () => {
  it("streams a complete response is asked once, and its chunks arrive unchanged", async () => {
    const { send, streams } = await serve();
    const { events, parts } = await send(wish({ cities: ["whole"] }));
    expect(streams()).toEqual([true, true]);
    expect(parts.length).toBeGreaterThan(10);
    const usage = expect.objectContaining({ input_tokens: 20, output_tokens: 10, total_tokens: 30 });
    expect(events).toMatchObject([{ type: "run-end", calls: 1, results: 1, usedFallback: false, usage }]);
  });

  it.each([
    ["by a reset connection", "only the rest is sent", []],
    ["after another text", "the sent text is retracted", ["Quite another text"]],
  ] as const)("breaks %s: %s", async (fault, _, takenBack) => {
    const { send } = await serve();
    const { parts } = await send(wish({ cities: ["rest"], fault, at: "answer" }));
    const texts = new Map<string, string>();
    const removed: (string | undefined)[] = [];
    for (const { type, id = "", text } of parts) {
      if (type === "remove") removed.push(texts.get(id));
      else if (type === "ai") texts.set(id, (texts.get(id) ?? "") + text);
    }
    expect(removed).toEqual(takenBack);
    expect([...texts.values()]).toEqual([CALL_TEXT, ...takenBack, answerFor(["rest"])]);
  });

  it("has `streaming: true` is not streamed when it is asked again", async () => {
    const { send, streams } = await serve({ fields: { streaming: true } });
    await send(wish({ cities: ["set"], fault: "without a finish reason", at: "answer" }));
    expect(streams()).toEqual([true, true, false]);
  });

  it("gives no finish reason is trusted after one complete response without it", async () => {
    const fault = "without a finish reason";
    const { send, streams } = await serve({}, () => ({ text: "As ever.", finish: null, fault }));
    for (const text of ["one", "two", "three"]) await send(text);
    expect(streams()).toEqual([true, false, true, true]);
  });

  it("repeats its response id is shown in messages of their own", async () => {
    const server = await startModelServer(respondToWish("look"), () => "chatcmpl-same");
    onTestFinished(() => server.stop());
    const thread = openServerThread(server);
    const client = new PlainClient();
    for (const fault of [undefined, "after another text", "by a reset connection"] as const) {
      const request = { cities: ["same", String(fault)], at: "answer", ...(fault && { fault }) } as const;
      for (const part of (await thread.send(wish(request))).parts) client.add(part);
    }
    expect(shown(client.messages)).toEqual(shown(await thread.read()));
  });

  it("is aborted in the middle of its stream is not asked again", async () => {
    const abort = new AbortController();
    const { send, read, streams } = await serve({}, () => {
      setTimeout(() => abort.abort(), 20);
      return { text: "word ".repeat(20_000) };
    });
    await expect(send("x", abort.signal)).rejects.toThrow(/abort/i);
    expect(streams()).toEqual([true]);
    expect(script(await read())).toEqual(["human: x"]);
  });
});

describe.each(MANNERS)("a model that is %s and", (manner) => {
  /** The first of a request's responses: only who listens needs a stream. */
  const first = manner === "listened to" ? true : expect.any(Boolean);

  it.each([
    ["was made by itself", "by a reset connection", undefined],
    ["was made by `initChatModel`", "with arguments cut off by the token limit", initChatModel],
  ] as const)(
    "%s is asked again for the same, tools and all, without streaming",
    async (_title, fault, init) => {
      const { server, streams, ...thread } = await serve({ manner });
      const configuration = { baseURL: server.url };
      const model = await init?.("test", { modelProvider: "openai", apiKey: "x", configuration });
      const { send } =
        model === undefined ? thread : openServerThread(server, { options: { model }, manner });
      const { messages } = await send(wish({ cities: ["again"], fault, at: "call" }));
      const [asked, again] = server.requests;
      expect(messages.at(-1)?.text).toBe(answerFor(["again"]));
      expect(streams()).toEqual([first, false, first]);
      expect(again).toEqual({ ...asked, stream: false, isAgain: true });
      expect(again?.tools).toHaveLength(1);
    },
  );

  it.each([{ streaming: false }, { disableStreaming: true }])("has %o is never streamed", async (fields) => {
    const { send, streams } = await serve({ fields, manner });
    const { messages } = await send(wish({ cities: ["never"] }));
    expect(streams()).toEqual([false, false]);
    expect(messages.at(-1)?.text).toBe(answerFor(["never"]));
  });

  it("ends a text at the token limit is not asked again", async () => {
    const { send, streams } = await serve({ manner }, () => ({ text: "It is a long", finish: "length" }));
    const { messages, events } = await send("tell me");
    expect(messages.map(({ text }) => text)).toEqual(["It is a long"]);
    expect(streams()).toEqual([first]);
    expect(events).toMatchObject([{ type: "run-end", usedFallback: false }]);
  });

  it.each([0, 1, 3])(
    "never gives a complete response is asked again %i times, then fails; the history stays unchanged",
    async (max) => {
      const options = { maxStreamFallbackAttempts: max };
      const { send, read, streams } = await serve({ options, manner }, () => ({ text: "", finish: "stop" }));
      await expect(send("x")).rejects.toMatchObject({ code: "MODEL_FAILED" });
      expect(streams()).toEqual([first, ...Array(max).fill(false)]);
      expect(script(await read())).toEqual(["human: x"]);
    },
  );

  it("always makes calls at the token limit fails, and no call of it is run", async () => {
    const calls = [{ name: "look", args: { city: "limit" } }];
    const { send, looked } = await serve({ manner }, () => ({ calls, finish: "length" }));
    await expect(send("x")).rejects.toThrow(/token limit.*3 times/);
    expect(looked).toEqual([]);
  });

  it("refuses when it is asked again has its refusal passed on", async () => {
    const { send, streams } = await serve({ manner }, ({ isAgain }) =>
      isAgain ? 400 : { text: "I will say", fault: "by the end of its body" },
    );
    await expect(send("x")).rejects.toMatchObject({ status: 400 });
    expect(streams()).toEqual([first, false]);
  });

  it("breaks once has its own usage in the message, and the run's usage includes the broken response", async () => {
    const { send, read } = await serve({ manner });
    const { events } = await send(wish({ cities: ["use"], fault: "with nothing in it", at: "answer" }));
    expect(events.at(-1)).toMatchObject({ usage: { total_tokens: 45 } });
    expect((await read()).at(-1)).toMatchObject({ usage_metadata: { total_tokens: 15 } });
  });
});

describe.each([
  ["listened to", "listened to", {}],
  ["not listened to", "not listened to", {}],
  ["never streamed", "not listened to", { disableStreaming: true }],
] as const)("a response that is %s, and", (_title, manner, fields) => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer(respondToWish("look"));
  });
  afterAll(() => server.stop());

  const threads = (IS_SLOW ? FAULT_THREADS : FAULT_SAMPLE)
    .filter(([{ fault }]) => hasFault(manner, fault))
    .map((turns) => [turns.map(({ title }) => title).join(", and "), turns] as const);

  it.concurrent.each(threads)("%s: it is asked for again, and is whole", async (_title, turns) => {
    const thread = openServerThread(server, { manner, fields });
    let known = 0;
    for (const fault of turns) {
      const { messages, events } = await thread.send(wish(fault));
      const state = await thread.read();

      expect(state.at(-1)?.text).toBe(answerFor(fault.cities));
      expect(shown(messages)).toEqual(shown(state.slice(known)));
      expect(messages.map(({ text }) => text)).toContain(CALL_TEXT);
      for (const city of fault.cities) expect(thread.looked.filter((name) => name === city)).toEqual([city]);
      expect(events.map(({ type }) => type)).toEqual(["response-broken", "run-end"]);
      const { length } = fault.cities;
      expect(events.at(-1)).toMatchObject({ calls: length, results: length, usedFallback: true });
      known = state.length;
    }
  });
});
