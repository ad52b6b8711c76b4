/** Which requests are streamed: those that the client alone would stream, unless the client or its host cannot. */

import { createServer } from "node:http";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatCohere } from "@langchain/cohere";
import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { CohereClient } from "cohere-ai";
import { createAgent } from "langchain";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { askModel, createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLook } from "../support/chain-script.js";
import { openAIAt } from "../support/clients.js";
import { listen } from "../support/listen.js";
import { Listener } from "../support/listener.js";
import { startModelServer } from "../support/model-server.js";
import { type AnyAgent, openAgentThread } from "../support/open-thread.js";
import { inThread, messagesOf, user } from "../support/thread.js";

const { look, looked } = createLook();

/** What is used of an agent in these tests. */
interface Agent {
  invoke(input: object, config: object): Promise<unknown>;
  stream(input: object, config: object): Promise<AsyncIterable<unknown>>;
  getState(config: object): Promise<{ values: object }>;
  streamEvents(input: object, config: object): AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>;
}

const alone = (model: object) =>
  createAgent({ model: model as never, tools: [look], checkpointer: new MemorySaver() }) as unknown as Agent;
const OURS = [
  [
    "createAgentGraph",
    (model: object) =>
      createAgentGraph({
        model: model as never,
        tools: [look],
        checkpointer: new MemorySaver(),
        promptCache: "off",
      }) as unknown as Agent,
  ],
  [
    "tetherMiddleware",
    (model: object) =>
      createAgent({
        model: model as never,
        tools: [look],
        checkpointer: new MemorySaver(),
        middleware: [tetherMiddleware()],
      }) as unknown as Agent,
  ],
] as const;

async function read(stream: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>): Promise<unknown[]> {
  const parts: unknown[] = [];
  for await (const part of await stream) parts.push(part);
  return parts;
}

type Run = (agent: Agent) => Promise<unknown>;

const given = (more: object = {}) => ({ ...inThread("1"), ...more });
const RUNS: readonly (readonly [string, Run])[] = [
  ["invoke", (agent) => agent.invoke(user("Hi."), given())],
  ...["values", "updates", "custom", "messages"].map((streamMode): [string, Run] => [
    `the stream mode ${streamMode}`,
    async (agent) => read(await agent.stream(user("Hi."), given({ streamMode }))),
  ]),
  ...["v2", "v3"].map((version): [string, Run] => [
    `streamEvents ${version}`,
    (agent) => read(agent.streamEvents(user("Hi."), given({ version }))),
  ]),
  ["a token callback", (agent) => agent.invoke(user("Hi."), given({ callbacks: [new Listener(false)] }))],
  ["a listener", (agent) => agent.invoke(user("Hi."), given({ callbacks: [new Listener()] }))],
  [
    "messages with the tag nostream",
    async (agent) =>
      read(await agent.stream(user("Hi."), given({ streamMode: "messages", tags: ["nostream"] }))),
  ],
];

describe.each(OURS)("%s", (_, agentWith) => {
  it.each(RUNS)("%s: the request is the client's own", async (_title, run) => {
    const bodies: unknown[] = [];
    for (const make of [alone, agentWith]) {
      const server = await startModelServer(() => ({ text: "Hello there." }));
      onTestFinished(() => server.stop());
      await run(make(openAIAt(server.url)));
      expect(server.bodies).toHaveLength(1);
      bodies.push(server.bodies[0]);
    }
    expect(bodies[1]).toEqual(bodies[0]);
  });

  it("a client with `streaming: true` streams by itself, and tells each token", async () => {
    const server = await startModelServer(() => ({ text: "Hello there, you." }));
    onTestFinished(() => server.stop());
    const listener = new Listener(false);
    await agentWith(openAIAt(server.url, { streaming: true })).invoke(
      user("Hi."),
      given({ callbacks: [listener] }),
    );
    expect(server.requests.map(({ stream }) => stream)).toEqual([true]);
    expect(listener.tokens.join("")).toBe("Hello there, you.");
    await expect.poll(() => listener.ended).toContain("Hello there, you.");
  });

  it("a run that is read as events of version 3 stores the response as the client gave it", async () => {
    const server = await startModelServer(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? { text: "Clear." }
        : { text: "I look. ", calls: [{ name: "look", args: { city: "Bonn" } }] },
    );
    onTestFinished(() => server.stop());
    const agent = agentWith(openAIAt(server.url));
    await read(agent.streamEvents(user("Hi."), given({ version: "v3" })));
    const stored = messagesOf((await agent.getState(given())).values);
    expect(stored.map(({ text }) => text)).toEqual(["Hi.", "I look. ", "Bonn: clear", "Clear."]);
    expect(stored.at(-1)).toMatchObject({
      usage_metadata: { total_tokens: 15 },
      response_metadata: { finish_reason: "stop" },
    });
  });

  it("a request in one piece that gives a broken response is sent again", async () => {
    let count = 0;
    const server = await startModelServer(() => {
      count += 1;
      return count === 1
        ? { calls: [{ name: "look", args: { city: `cut ${_}` } }], finish: "length" }
        : { text: "Clear." };
    });
    onTestFinished(() => server.stop());
    const result = await agentWith(openAIAt(server.url)).invoke(user("Hi."), given());
    expect(messagesOf(result as object).at(-1)?.text).toBe("Clear.");
    expect(server.requests.map(({ stream }) => stream)).toEqual([false, false]);
    expect(looked).not.toContain(`cut ${_}`);
  });

  it("Cohere's stream cannot be read if it has calls, so its client is asked in one piece, also later", async () => {
    const { url, streams } = await startCohere();
    const client = () => new CohereClient({ token: "x", environment: url });
    const model = () =>
      new ChatCohere({ model: `command-${_}`, client: client() as never, streamUsage: true });
    const listener = new Listener();
    const agent = agentWith(model());
    const result = await agent.invoke(user("Look."), given({ callbacks: [listener] }));
    expect(messagesOf(result as object).map(({ text }) => text)).toEqual([
      "Look.",
      "",
      "Oslo: clear",
      "It is clear.",
    ]);
    expect(streams).toEqual([true, false, false]);
    await agentWith(model()).invoke(user("Look."), given({ callbacks: [new Listener()] }));
    expect(streams.slice(3)).toEqual([false, false]);
  });

  it("a host that only streams is asked for a stream, also later; another model of it is asked as usual", async () => {
    const server = await startModelServer(({ stream }) =>
      stream
        ? { text: "Hello there." }
        : {
            status: 400,
            message:
              "This model only support stream mode, please enable the stream parameter to access the model.",
          },
    );
    onTestFinished(() => server.stop());
    for (const model of ["qwq-plus", "qwq-plus", "qwen-omni"]) {
      const result = await agentWith(openAIAt(server.url, { model })).invoke(user("Hi."), given());
      expect(messagesOf(result as object).at(-1)?.text).toBe("Hello there.");
    }
    expect(server.requests.map(({ stream }) => stream)).toEqual([false, true, true, false, true]);
  });

  it("a host that refuses both manners is asked again each time, and its refusal is told", async () => {
    const server = await startModelServer(() => ({ status: 400, message: "stream must be set to true" }));
    onTestFinished(() => server.stop());
    for (const _time of [1, 2])
      await expect(agentWith(openAIAt(server.url)).invoke(user("Hi."), given())).rejects.toThrow(
        /stream must be/,
      );
    expect(server.requests.map(({ stream }) => stream).slice(0, 2)).toEqual([false, true]);
  });

  it("Claude is asked for a stream if its client demands one for a long answer, without a wait", async () => {
    const { url, streams } = await startClaude();
    const model = new ChatAnthropic({
      model: "claude-sonnet-4-5",
      apiKey: "x",
      anthropicApiUrl: url,
      maxTokens: 64_000,
    });
    const result = await agentWith(model).invoke(user("Hi."), given());
    expect(messagesOf(result as object).at(-1)?.text).toBe("Hello.");
    expect(streams).toEqual([true]);
  });

  it("what a listening client was sent of an unreadable stream is taken back", async () => {
    const { url } = await startObjectArguments();
    const agent = agentWith(openAIAt(url, { model: `objects-${_}` })) as unknown as AnyAgent;
    const thread = openAgentThread(agent);
    const { messages, events, error } = await thread.run(user("Look."));
    expect(error).toBeUndefined();
    expect(messages.filter(({ type }) => type === "ai").map(({ text }) => text)).toEqual([
      "I will look. ",
      "It is clear.",
    ]);
    expect(events).toContainEqual(expect.objectContaining({ type: "response-broken", reason: "unreadable" }));
  });

  it("the error of a callback that must not fail is no fault of the client", async () => {
    const server = await startModelServer(() => ({ text: "Hello there." }));
    onTestFinished(() => server.stop());
    vi.spyOn(console, "error").mockImplementation(() => {});
    const callback = Object.assign(new Listener(), { raiseError: true, awaitHandlers: true });
    callback.handleLLMNewToken = () => {
      throw new TypeError("my own");
    };
    const model = openAIAt(server.url, { model: `callback-${_}` });
    await expect(agentWith(model).invoke(user("Hi."), given({ callbacks: [callback] }))).rejects.toThrow(
      "my own",
    );
    expect(server.requests).toHaveLength(1);
  });
});

it("`askModel` outside a graph asks in one piece.", async () => {
  const server = await startModelServer(() => ({ text: "Hello there." }));
  onTestFinished(() => server.stop());
  const { text } = await askModel(openAIAt(server.url), [new HumanMessage("Hi.")]);
  expect(text).toBe("Hello there.");
  expect(server.requests.map(({ stream }) => stream)).toEqual([false]);
});

/*
 * Hosts.
 */

type Reply = (body: Readonly<Record<string, unknown>>) => string;

/** A server that answers with these lines, and notes which requests stream. */
async function start(reply: Reply) {
  const streams: boolean[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    streams.push(body.stream === true);
    const type = body.stream === true ? "text/event-stream" : "application/json";
    response.writeHead(200, { "content-type": type }).end(reply(body));
  });
  const { url, stop } = await listen(server);
  onTestFinished(() => stop());
  return { url, streams };
}

const startCohere = () =>
  start((body) => {
    const isDone = JSON.stringify(body).includes("Oslo: clear");
    const tool_calls = isDone ? [] : [{ name: "look", parameters: { city: "Oslo" } }];
    const text = isDone ? "It is clear." : "";
    const meta = { tokens: { input_tokens: 3, output_tokens: 2 } };
    const whole = { text, generation_id: "1", finish_reason: "COMPLETE", tool_calls, meta };
    if (body["stream"] !== true) return JSON.stringify(whole);
    const events = [
      { event_type: "stream-start", generation_id: "1" },
      ...(text === "" ? [] : [{ event_type: "text-generation", text }]),
      { event_type: "stream-end", finish_reason: "COMPLETE", response: whole },
    ];
    return events.map((event) => `${JSON.stringify(event)}\n`).join("");
  });

const startClaude = () =>
  start(() => {
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      content: [],
    };
    const events = [
      { type: "message_start", message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  });

/** A host with OpenAI's protocol that streams `null` for the arguments of a call. */
const startObjectArguments = () =>
  start(({ stream, messages }) => {
    const isDone = JSON.stringify(messages).includes("clear");
    const text = isDone ? "It is clear." : "I will look. ";
    const finish_reason = isDone ? "stop" : "tool_calls";
    const call = (args: unknown) => ({
      index: 0,
      id: "call_1",
      type: "function",
      function: { name: "look", arguments: args },
    });
    const head = { id: isDone ? "2" : "1", created: 1, model: "test" };
    if (stream !== true) {
      const tool_calls = isDone ? {} : { tool_calls: [call('{"city": "Oslo"}')] };
      const message = { role: "assistant", content: text, ...tool_calls };
      return JSON.stringify({
        ...head,
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason }],
      });
    }
    const deltas = [
      { role: "assistant", content: text },
      ...(isDone ? [] : [{ tool_calls: [call({ city: "Oslo" })] }]),
    ];
    const lines = [
      ...deltas.map((delta) => ({ delta, finish_reason: null })),
      { delta: {}, finish_reason },
    ].map((choice) =>
      JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, ...choice }] }),
    );
    return [...lines, "[DONE]"].map((line) => `data: ${line}\n\n`).join("");
  });
