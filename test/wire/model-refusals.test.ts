/** A model that refuses, and a turn that its provider pauses, through the real clients. */

import { createServer } from "node:http";
import { crc32 } from "node:zlib";
import { ChatBedrockConverse } from "@langchain/aws";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGoogle } from "@langchain/google";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, modelFallbackMiddleware } from "langchain";
import { beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph, ModelError, validateHistory } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLook } from "../support/chain-script.js";
import { anthropicAt, clientAt, geminiAt, openAIAt } from "../support/clients.js";
import { listen } from "../support/listen.js";
import { type AnyAgent, openAgentThread, openThread } from "../support/open-thread.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { messagesOf, user } from "../support/thread.js";
import { requestHandler } from "./unchanged/clients.js";

type Event = readonly [name: string, data: object];
interface Answer {
  readonly events: readonly Event[];
  readonly body: object;
  /** The stream, if it does not consist of lines. */
  readonly frames?: Buffer;
}

/** The answers to the next requests, the last one again and again. */
let answers: readonly Answer[] = [];
const requests: Record<string, unknown>[] = [];

const server = createServer(async (request, response) => {
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
  const answer = answers[Math.min(requests.length, answers.length - 1)];
  requests.push(body);
  const streams = body.stream === true || request.url?.includes("stream") === true;
  const { frames } = answer ?? {};
  const type = frames === undefined ? "text/event-stream" : "application/vnd.amazon.eventstream";
  response.writeHead(200, { "content-type": streams ? type : "application/json" });
  if (streams && frames !== undefined) return void response.end(frames);
  if (!streams) return void response.end(JSON.stringify(answer?.body));
  const lines = (answer?.events ?? []).map(
    ([name, data]) => `${name && `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`,
  );
  response.end(lines.join(""));
});
const { url } = stopAtEnd(await listen(server));
const strict = stopAtEnd(await startStrictProvider());

beforeEach(() => {
  requests.splice(0);
});

/** A message of Claude. */
function claude(content: readonly object[], stop_reason: string, more: object = {}): Answer {
  const message = {
    id: `msg_${Math.random()}`,
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
  };
  const usage = { input_tokens: 3, output_tokens: 2 };
  const blocks = content.flatMap((block, index): Event[] => {
    const { text, input, ...rest } = block as Record<string, unknown>;
    const start = {
      ...rest,
      ...(text !== undefined && { text: "" }),
      ...(input !== undefined && { input: {} }),
    };
    const delta =
      text !== undefined
        ? { type: "text_delta", text }
        : { type: "input_json_delta", partial_json: JSON.stringify(input) };
    return [
      ["content_block_start", { type: "content_block_start", index, content_block: start }],
      ...(text === undefined && input === undefined
        ? []
        : [["content_block_delta", { type: "content_block_delta", index, delta }] as const]),
      ["content_block_stop", { type: "content_block_stop", index }],
    ];
  });
  return {
    body: { ...message, content, stop_reason, stop_sequence: null, usage, ...more },
    events: [
      [
        "message_start",
        { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
      ],
      ...blocks,
      [
        "message_delta",
        { type: "message_delta", delta: { stop_reason, stop_sequence: null, ...more }, usage },
      ],
      ["message_stop", { type: "message_stop" }],
    ],
  };
}

/** A message of Chat Completions. */
function chat(message: object, finish_reason: string): Answer {
  const head = { id: "chatcmpl-1", created: 1, model: "gpt-5" };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const chunk = (delta: object, reason: string | null): Event => [
    "",
    { ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] },
  ];
  return {
    body: {
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }],
      usage,
    },
    events: [chunk({ role: "assistant", ...message }, null), chunk({}, finish_reason)],
  };
}

/** A response of the Responses API. */
function responses(content: readonly object[], status = "completed", more: object = {}): Answer {
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed", content };
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
  const body = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5", status, usage, ...more };
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const parts = content.flatMap((part, index): Event[] => {
    const { text, refusal } = part as { text?: string; refusal?: string };
    const at = { ...place, content_index: index };
    const kind = refusal === undefined ? "output_text" : "refusal";
    const whole = refusal === undefined ? { text } : { refusal };
    return [
      [`response.${kind}.delta`, { type: `response.${kind}.delta`, ...at, delta: text ?? refusal }],
      [`response.${kind}.done`, { type: `response.${kind}.done`, ...at, ...whole }],
    ];
  });
  return {
    body: { ...body, output: [item] },
    events: [
      [
        "response.created",
        { type: "response.created", response: { ...body, status: "in_progress", output: [] } },
      ],
      [
        "response.output_item.added",
        { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      ],
      ...parts,
      ["response.output_item.done", { type: "response.output_item.done", output_index: 0, item }],
      [`response.${status}`, { type: `response.${status}`, response: { ...body, output: [item] } }],
    ],
  };
}

/** A response of Gemini. */
function gemini(body: object): Answer {
  const whole = {
    ...body,
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
    modelVersion: "gemini",
  };
  return { body: whole, events: [["", whole]] };
}

/** A response of Bedrock's Converse. */
function bedrock(text: string, stopReason: string): Answer {
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
  const metrics = { latencyMs: 1 };
  const content = text === "" ? [] : [{ text }];
  const frames = [
    frameOf("messageStart", { role: "assistant" }),
    ...content.flatMap((delta) => [
      frameOf("contentBlockDelta", { contentBlockIndex: 0, delta }),
      frameOf("contentBlockStop", { contentBlockIndex: 0 }),
    ]),
    frameOf("messageStop", { stopReason }),
    frameOf("metadata", { usage, metrics }),
  ];
  const output = { message: { role: "assistant", content } };
  return { body: { output, stopReason, usage, metrics }, events: [], frames: Buffer.concat(frames) };
}

/** One event of AWS's streams: https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html#streaming-event-stream */
function frameOf(event: string, data: object): Buffer {
  const fields = { ":message-type": "event", ":event-type": event, ":content-type": "application/json" };
  const headers = Buffer.concat(
    Object.entries(fields).map(([name, value]) => {
      const kind = Buffer.from([7, 0, value.length]);
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), kind, Buffer.from(value)]);
    }),
  );
  const payload = Buffer.from(JSON.stringify(data));
  const number = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const lengths = [number(16 + headers.length + payload.length), number(headers.length)];
  const prelude = Buffer.concat([...lengths, number(crc32(Buffer.concat(lengths)))]);
  const message = Buffer.concat([prelude, headers, payload]);
  return Buffer.concat([message, number(crc32(message))]);
}

const SORRY = "I cannot help with that.";
const toolUse = { type: "tool_use", id: "toolu_1", name: "look", input: { city: "Oslo" } };
const call = {
  index: 0,
  id: "call_1",
  type: "function",
  function: { name: "look", arguments: '{"city":"Os' },
};
const cyber = { stop_details: { type: "refusal", category: "cyber", explanation: null } };
const claudeAt = () => anthropicAt(url);
const gptAt = () => openAIAt(`${url}/v1`);
const responsesAt = () => openAIAt(`${url}/v1`, { useResponsesApi: true });
const googleAt = () => geminiAt(url);
const newGoogleAt = () =>
  new ChatGoogle({ model: "gemini-2.5-flash", apiKey: "test-key", endpoint: url, maxRetries: 0 } as never);
const bedrockAt =
  (more: object = {}) =>
  () => {
    // The client warns of versions of Node.js that it will leave one day.
    process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
    return new ChatBedrockConverse({
      model: "amazon.nova-pro-v1:0",
      region: "us-east-1",
      credentials: { accessKeyId: "x", secretAccessKey: "x" },
      maxRetries: 0,
      clientOptions: { maxAttempts: 1, requestHandler: requestHandler(url, fetch) },
      ...more,
    });
  };
const blocked = (blockReason: string) => gemini({ promptFeedback: { blockReason } });
const stopped = (finishReason: string, more: object = {}) =>
  gemini({ candidates: [{ index: 0, finishReason, ...more }] });

type Row = readonly [
  title: string,
  model: () => BaseChatModel,
  answer: Answer,
  text: string | undefined,
  why?: object,
];

const ROWS: readonly Row[] = [
  ["Claude says nothing", claudeAt, claude([], "refusal", cyber), undefined],
  ["Claude stops in its text", claudeAt, claude([{ type: "text", text: "First," }], "refusal"), "First,"],
  ["Claude stops after a call", claudeAt, claude([toolUse], "refusal"), undefined],
  [
    "Claude stops after a text and a call",
    claudeAt,
    claude([{ type: "text", text: "I look." }, toolUse], "refusal"),
    "I look.",
  ],
  ["GPT refuses in a field", gptAt, chat({ refusal: SORRY }, "stop"), SORRY],
  ["GPT is filtered", gptAt, chat({}, "content_filter"), undefined],
  ["GPT is filtered in a call", gptAt, chat({ tool_calls: [call] }, "content_filter"), undefined],
  [
    "Claude stops in its text, with a category",
    claudeAt,
    claude([{ type: "text", text: "First," }], "refusal", cyber),
    "First,",
    { category: "cyber" },
  ],
  ["GPT refuses in a part", responsesAt, responses([{ type: "refusal", refusal: SORRY }]), SORRY],
  [
    "GPT refuses after a text",
    responsesAt,
    responses([
      { type: "output_text", text: "First.", annotations: [] },
      { type: "refusal", refusal: SORRY },
    ]),
    "First.",
  ],
  [
    "GPT is filtered in a response",
    responsesAt,
    responses([], "incomplete", { incomplete_details: { reason: "content_filter" } }),
    undefined,
  ],
  ...(
    [
      ["Gemini", googleAt],
      ["Gemini in the newer client", newGoogleAt],
    ] as const
  ).flatMap(([name, model]): Row[] => [
    [
      `${name} blocks the prompt`,
      model,
      blocked("PROHIBITED_CONTENT"),
      undefined,
      { reason: "PROHIBITED_CONTENT" },
    ],
    [`${name} blocks the prompt without a reason`, model, blocked("OTHER"), undefined, { reason: "blocked" }],
    [`${name} says nothing`, model, stopped("SAFETY"), undefined, { reason: "SAFETY" }],
    [
      `${name} stops in its text`,
      model,
      stopped("SAFETY", { content: { role: "model", parts: [{ text: "First," }] } }),
      "First,",
      { reason: "SAFETY" },
    ],
  ]),
  ...(["content_filtered", "guardrail_intervened"] as const).flatMap((reason): Row[] => [
    [`Bedrock ends with ${reason}`, bedrockAt(), bedrock("", reason), undefined, { reason }],
    [`Bedrock ends in a text with ${reason}`, bedrockAt(), bedrock(SORRY, reason), SORRY, { reason }],
    [
      `Bedrock without streaming ends in a text with ${reason}`,
      bedrockAt({ disableStreaming: true }),
      bedrock(SORRY, reason),
      SORRY,
      { reason },
    ],
  ]),
];

function openGraph(model: BaseChatModel, options: object = {}) {
  const { look, looked } = createLook();
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options });
  return { ...openThread(graph), looked };
}

const TOLD = ROWS.map(([title, model, answer, text, why = {}]) => ({ title, model, answer, text, why }));

describe.each(TOLD)("If $title,", ({ model, answer, text, why }) => {
  beforeEach(() => {
    answers = [answer];
  });

  it("it is asked once, and its words are the response", async () => {
    const thread = openGraph(model());
    const { error, messages, events } = await thread.send("How do I do it?");
    expect(requests).toHaveLength(1);
    expect(thread.looked).toEqual([]);
    expect(events.filter(({ type }) => type === "response-broken")).toEqual([]);
    const told = events.filter(({ type }) => type === "response-withheld");
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject(why);
    const shownTexts = messages.filter(({ type }) => type === "ai").map((message) => message.text);
    expect(shownTexts).toEqual(text === undefined ? [] : [text]);
    const stored = await thread.read();
    expect(stored.slice(1).map((message) => message.text)).toEqual(text === undefined ? [] : [text]);
    if (text !== undefined) expect(error).toBeUndefined();
    else {
      expect(error).toBeInstanceOf(ModelError);
      expect(String(error)).toMatch(/The model's response was withheld \(`\w+`(?:, `cyber`)?\)\./);
      expect(String(error)).not.toContain("token limit");
    }
  });

  it("the fallback model is asked", async () => {
    const thread = openGraph(model(), { fallbackModels: [await clientAt("mistral", strict.url("mistral"))] });
    const { error, events } = await thread.send("How do I do it?");
    expect(error).toBeUndefined();
    expect(requests).toHaveLength(1);
    expect(events.map(({ type }) => type)).toEqual(["response-withheld", "model-switched", "run-end"]);
    expect((await thread.read()).at(-1)?.text).toBe("All is well.");
  });

  it("the same holds under `tetherMiddleware`", async () => {
    const { look, looked } = createLook();
    const middleware = [
      modelFallbackMiddleware((await clientAt("mistral", strict.url("mistral"))) as never),
      tetherMiddleware(),
    ];
    const agent = createAgent({ model: model(), tools: [look], checkpointer: new MemorySaver(), middleware });
    const thread = openAgentThread(agent as unknown as AnyAgent);
    const { error, events } = await thread.run(user("How do I do it?"));
    expect(error).toBeUndefined();
    expect(events).toMatchObject([{ type: "response-withheld", ...why }]);
    expect(requests).toHaveLength(1);
    expect(looked).toEqual([]);
    expect(messagesOf(await thread.values()).at(-1)?.text).toBe(text ?? "All is well.");
  });
});

it("The category of a refusal without a text is in the error.", async () => {
  answers = [claude([], "refusal", cyber)];
  const { error } = await openGraph(claudeAt()).send("x");
  expect(String(error)).toBe("ModelError: The model's response was withheld (`refusal`, `cyber`).");
});

const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sky" } };
const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
const paused = claude([{ type: "text", text: "I search. " }, search], "pause_turn");
const rest = claude([found, { type: "text", text: "It is clear." }], "end_turn");

describe("A turn that Anthropic pauses", () => {
  const sentBack = () => Object(requests[1]?.["messages"]).at(-1);

  it("is sent again as it is, and is one message for the client and the thread", async () => {
    answers = [paused, rest];
    const thread = openGraph(claudeAt());
    const { error, messages } = await thread.send("How is the sky?");
    expect(error).toBeUndefined();
    expect(requests).toHaveLength(2);
    expect(sentBack()).toMatchObject({
      role: "assistant",
      content: [
        { type: "text", text: "I search. " },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sky" } },
      ],
    });
    const stored = await thread.read();
    expect(stored.map(({ type }) => type)).toEqual(["human", "ai"]);
    expect(stored.at(-1)?.text).toBe("I search. It is clear.");
    expect(stored.at(-1)).toMatchObject({ usage_metadata: { input_tokens: 6 } });
    expect(messages.filter(({ type }) => type === "ai").map(({ text }) => text)).toEqual([
      "I search. It is clear.",
    ]);
    expect(validateHistory(stored, "anthropic").filter(({ rule }) => rule !== "assistant-last")).toEqual([]);
    answers = [rest];
    await thread.send("And now?");
    const content = Object(requests[2]?.["messages"])[1].content;
    expect(content.map(({ type }: { type: string }) => type)).toEqual([
      "text",
      "server_tool_use",
      "web_search_tool_result",
      "text",
    ]);
  });

  it("is sent again under `tetherMiddleware` too", async () => {
    answers = [paused, rest];
    const agent = createAgent({
      model: claudeAt(),
      checkpointer: new MemorySaver(),
      middleware: [tetherMiddleware()],
    });
    const thread = openAgentThread(agent as unknown as AnyAgent);
    expect((await thread.run(user("How is the sky?"))).error).toBeUndefined();
    expect(requests).toHaveLength(2);
    expect(messagesOf(await thread.values()).at(-1)?.text).toBe("I search. It is clear.");
  });

  it("is sent again six times at most", async () => {
    answers = [claude([{ type: "text", text: "Go. " }], "pause_turn")];
    const thread = openGraph(claudeAt());
    const { error } = await thread.send("How is the sky?");
    expect(error).toBeUndefined();
    expect(requests).toHaveLength(7);
    expect((await thread.read()).at(-1)?.text).toBe("Go. ".repeat(7));
  });
});
