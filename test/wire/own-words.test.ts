/**
 * A model gets its own words back as it gave them, whatever name it answered with, and another model gets texts, calls
 * and media only. Over HTTP, through the real clients, streamed and whole.
 */

import { createServer, type ServerResponse } from "node:http";
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGroq } from "@langchain/groq";
import { MemorySaver } from "@langchain/langgraph";
import { AzureChatOpenAI, ChatOpenAI, type ChatOpenAIFields } from "@langchain/openai";
import { createAgent } from "langchain";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { listen } from "../support/listen.js";
import { Listener } from "../support/listener.js";
import { leadRequests, stopAtEnd } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";

type Fields = Readonly<Record<string, unknown>>;

/*
 * One server for every host. It gives the responses of the test in turn, and notes what it is sent.
 */

const requests: Fields[] = [];
let answers: Fields[] = [];

const server = createServer(async (request, response) => {
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
  requests.push(body);
  const answer = answers.shift();
  if (answer === undefined) return sendJson(response, { error: { message: "no answer is left" } }, 500);
  const isStreamed = body.stream === true || /stream/i.test(String(request.url));
  if (!isStreamed) return sendJson(response, answer);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of eventsOf(answer)) {
    const type = event["type"] === undefined ? "" : `event: ${event["type"]}\n`;
    response.write(`${type}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end("choices" in answer ? "data: [DONE]\n\n" : "");
});

function sendJson(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A whole response in the pieces of its provider's stream. */
function eventsOf(answer: Fields): Fields[] {
  if (Array.isArray(answer["choices"])) return chatEvents(answer);
  if (Array.isArray(answer["output"])) return responseEvents(answer);
  if (Array.isArray(answer["candidates"])) return [answer];
  return messageEvents(answer);
}

function messageEvents(answer: Fields): Fields[] {
  const { content, stop_reason, usage, ...head } = answer;
  const blocks = (content as Fields[]).flatMap((block, index) => {
    const { text, thinking, signature, input } = block;
    const written = { text, thinking, signature };
    const started = Object.entries(block).map(([name, value]) => {
      if (name in written) return [name, ""];
      return [name, name === "input" ? {} : value];
    });
    const deltas = [
      ...(text === undefined ? [] : halves(String(text)).map((half) => ({ type: "text_delta", text: half }))),
      ...(thinking === undefined ? [] : [{ type: "thinking_delta", thinking }]),
      ...(signature === undefined ? [] : [{ type: "signature_delta", signature }]),
      ...(input === undefined
        ? []
        : halves(JSON.stringify(input)).map((partial_json) => ({ type: "input_json_delta", partial_json }))),
    ];
    return [
      { type: "content_block_start", index, content_block: Object.fromEntries(started) },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  });
  return [
    { type: "message_start", message: { ...head, content: [], usage } },
    ...blocks,
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
}

const halves = (text: string) => [text.slice(0, 5), text.slice(5)];

function responseEvents(answer: Fields): Fields[] {
  const { output, ...head } = answer;
  const items = (output as Fields[]).flatMap((item, output_index) => {
    const { content = [], id: item_id, arguments: written } = item;
    const begun = item["type"] === "message" ? { ...item, content: [] } : { ...item };
    const texts = (content as Fields[]).flatMap((part, content_index) => {
      const place = { item_id, output_index, content_index };
      return [
        { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
        { type: "response.output_text.delta", ...place, delta: part["text"] },
        { type: "response.output_text.done", ...place, text: part["text"] },
      ];
    });
    const pieces =
      item["type"] === "function_call"
        ? [{ type: "response.function_call_arguments.delta", item_id, output_index, delta: written }]
        : [];
    return [
      {
        type: "response.output_item.added",
        output_index,
        item: item["type"] === "function_call" ? { ...begun, arguments: "" } : begun,
      },
      ...texts,
      ...pieces,
      { type: "response.output_item.done", output_index, item },
    ];
  });
  return [
    { type: "response.created", response: { ...head, status: "in_progress", output: [] } },
    ...items,
    { type: "response.completed", response: answer },
  ];
}

function chatEvents({ choices, ...answer }: Fields): Fields[] {
  const [{ message, finish_reason }] = choices as [{ message: Fields; finish_reason: string }];
  const { content, tool_calls, ...fields } = message;
  const calls = ((tool_calls ?? []) as Fields[]).map((call, index) => ({ tool_calls: [{ index, ...call }] }));
  const deltas: Fields[] = [{ role: "assistant", content: "" }, fields, ...calls, { content }, {}];
  return deltas.map((delta, index) => ({
    ...answer,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: index === deltas.length - 1 ? finish_reason : null }],
  }));
}

const { url } = stopAtEnd(await listen(server));
const { fetch: send } = globalThis;
leadRequests(async (input, init) => {
  const request = new Request(input, init);
  const { pathname, search } = new URL(request.url);
  const headers = { "content-type": "application/json" };
  return send(new URL(pathname + search, url), { method: "POST", headers, body: await request.text() });
});

beforeEach(() => {
  requests.length = 0;
});

/*
 * Agents, models and their answers.
 */

const look = tool(({ city }) => `It is clear in ${city}.`, {
  name: "look",
  description: "Looks.",
  schema: z.object({ city: z.string() }),
});

const AGENTS = {
  createAgentGraph: (models: readonly BaseChatModel[]) =>
    createAgentGraph({
      model: models[0] as BaseChatModel,
      fallbackModels: models.slice(1),
      tools: [look],
      checkpointer: new MemorySaver(),
      promptCache: "off",
      maxTokensBeforeSummary: 0,
    }),
  tetherMiddleware: ([model]: readonly BaseChatModel[]) =>
    createAgent({
      model: model as BaseChatModel,
      tools: [look],
      middleware: [tetherMiddleware()],
      checkpointer: new MemorySaver(),
    }),
} as const;

const WAYS = Object.keys(AGENTS).flatMap((agent) =>
  [true, false].map((streaming) => ({ agent: agent as keyof typeof AGENTS, streaming })),
);

type Making = (fields: object) => BaseChatModel;

/** What the models are sent, turn by turn: the last of them asks from the second turn on. */
async function converse(
  { agent, streaming }: (typeof WAYS)[number],
  given: readonly Fields[],
  ...models: readonly Making[]
): Promise<readonly Fields[]> {
  answers = [...given];
  const make = (making: Making | undefined) =>
    making?.(streaming ? {} : { streaming: false }) as BaseChatModel;
  const create = (model: BaseChatModel) => AGENTS[agent]([model]);
  const [first, ...others] = models;
  const begun = create(make(first));
  const heard = streaming ? { callbacks: [new Listener()] } : {};
  const thread = { ...inThread("1"), ...heard };
  await begun.invoke(user("How is the sky?") as never, thread);
  const { messages } = (await begun.invoke(user("And now?") as never, thread)) as { messages: unknown[] };
  if (others.length === 0) return requests;
  for (const other of others)
    await create(make(other)).invoke(
      { messages: [...messages, { role: "user", content: "Once more." }] } as never,
      { ...inThread("2"), ...heard },
    );
  return requests;
}

const key = { apiKey: "x", maxRetries: 0 };
const claude =
  (model: string, more: object = {}): Making =>
  (fields) =>
    new ChatAnthropic({
      ...key,
      model,
      maxTokens: 2_048,
      thinking: { type: "enabled", budget_tokens: 1_024 },
      ...more,
      ...fields,
    });
const gpt =
  (model: string, more: ChatOpenAIFields = {}): Making =>
  (fields) =>
    new ChatOpenAI({ ...key, model, ...more, ...fields });
const at = (baseURL: string) => ({ configuration: { baseURL } });

const usage = { input_tokens: 5, output_tokens: 5 };
const message = (model: string, ...content: readonly Fields[]): Fields => ({
  id: "msg_01",
  type: "message",
  role: "assistant",
  model,
  content,
  stop_reason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
  usage,
});

const thinking = { type: "thinking", thinking: "I should look.", signature: "c2lnbmVk" };
const toolUse = { type: "tool_use", id: "toolu_1", name: "look", input: { city: "Oslo" } };
const text = { type: "text", text: "It is clear." };

const SONNET = "claude-sonnet-4-5";

const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ZW5j" };
const found = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "sky" },
};
const called = (id: string, more: Fields = {}) => ({
  type: "function_call",
  id,
  call_id: `call_${id.slice(0, 20)}`,
  name: "look",
  arguments: '{"city":"Oslo"}',
  status: "completed",
  ...more,
});
const said = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Clear.", annotations: [] }],
};

const responseOf = (model: string, ...output: readonly Fields[]): Fields => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model,
  output,
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
});

const completion = (model: string, fields: Fields): Fields => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model,
  choices: [
    {
      index: 0,
      message: { role: "assistant", ...fields },
      finish_reason: fields["tool_calls"] === undefined ? "stop" : "tool_calls",
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
});

const generated = (...parts: readonly Fields[]): Fields => ({
  candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 },
});

const listIn = (body: Fields | undefined): readonly Fields[] => {
  const { messages, input, contents } = Object(body);
  return messages ?? input ?? contents ?? [];
};
const assistantsIn = (body: Fields | undefined) => listIn(body).filter(({ role }) => role === "assistant");

describe.each(WAYS)("$agent, streamed: $streaming:", (way) => {
  describe("An alias of Claude that answers with another name", () => {
    const asked = "claude-sonnet-4-0";
    const named = "claude-sonnet-4-20250514";

    it("goes on with its signed thoughts and its calls, each in its place.", async () => {
      const direct = { ...toolUse, caller: { type: "direct" } };
      const content = [thinking, { type: "text", text: "I look." }, direct];
      const sent = await converse(
        way,
        [message(named, ...content), message(named, text), message(named, text)],
        claude(asked),
      );
      expect(assistantsIn(sent[1])[0]?.["content"]).toEqual(content);
      expect(assistantsIn(sent[2])[0]?.["content"]).toEqual(content);
    });

    it("can be pinned to the name that it answers with.", async () => {
      const answer = message(named, text);
      const given = [message(named, thinking, toolUse), answer, answer, answer];
      const sent = await converse(way, given, claude(asked), claude(named));
      expect(assistantsIn(sent[3])[0]?.["content"]).toEqual([thinking, toolUse]);
    });

    it("keeps its thoughts if a client sends the thread back as JSON.", async () => {
      const answer = message(named, text);
      answers = [message(named, thinking, toolUse), answer, answer];
      const agent = AGENTS[way.agent]([claude(asked)({}) as BaseChatModel]);
      const { messages } = (await agent.invoke(user("How is the sky?") as never, inThread("1"))) as {
        messages: unknown[];
      };
      const sentBack = JSON.parse(JSON.stringify([...messages, { role: "user", content: "And now?" }]));
      await agent.invoke({ messages: sentBack } as never, inThread("2"));
      expect(assistantsIn(requests[2])[0]?.["content"]).toEqual([thinking, toolUse]);
    });

    it("is another model than the one that answers at another host.", async () => {
      const answer = message(named, text);
      const given = [message(named, thinking, toolUse), answer, answer, answer];
      const other = claude(asked, { anthropicApiUrl: "https://gateway.example/anthropic" });
      const sent = await converse(way, given, claude(asked), other);
      expect(assistantsIn(sent[3])[0]?.["content"]).toEqual([toolUse]);
    });
  });

  it("Claude gets results of tools that no client knows, with their calls, and each field of a call.", async () => {
    const content = [
      { type: "mcp_tool_use", id: "mcptoolu_1", name: "find", server_name: "house", input: { word: "sky" } },
      { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [text] },
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: { url: "https://x.example" } },
      { type: "web_fetch_tool_result", tool_use_id: "srvtoolu_1", content: { type: "web_fetch_result" } },
      { type: "server_tool_use", id: "srvtoolu_2", name: "weigh", input: {} },
      { type: "weigh_tool_result", tool_use_id: "srvtoolu_2", content: { grams: 3 } },
      text,
      { ...toolUse, caller: { type: "direct" } },
    ];
    const given = [message(SONNET, ...content), message(SONNET, text), message(SONNET, text)];
    const sent = await converse(way, given, claude(SONNET));
    expect(assistantsIn(sent[1])[0]?.["content"]).toEqual(content);
  });

  it("Another Claude gets texts, calls with their direct callers, and as text what tools returned.", async () => {
    const fetched = { type: "web_fetch_result", url: "https://x.example", content: "A page." };
    const content = [
      thinking,
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: { url: "https://x.example" } },
      { type: "web_fetch_tool_result", tool_use_id: "srvtoolu_1", content: fetched },
      { type: "future_block", secret: "s" },
      { ...text, future_field: 1 },
      { ...toolUse, caller: { type: "direct" } },
    ];
    const answer = message(SONNET, text);
    const given = [message(SONNET, ...content), answer, answer, message("claude-opus-4-5", text)];
    const sent = await converse(way, given, claude(SONNET), claude("claude-opus-4-5"));
    const told = expect.stringContaining("A page.");
    expect(assistantsIn(sent[3])[0]?.["content"]).toEqual([
      { type: "text", text: told },
      text,
      { ...toolUse, caller: { type: "direct" } },
    ]);
    expect(JSON.stringify(sent[3])).not.toMatch(/future|input_json_delta|c2lnbmVk/);
  });

  describe("OpenAI's Responses API", () => {
    const responses = { useResponsesApi: true } as const;

    it.each([
      ["gpt-5.6", "gpt-5.6-sol"],
      ["gpt-5", "gpt-5-2025-08-07"],
    ])("gets its items from %s, which answers as %s, as they are.", async (asked, answered) => {
      const output = [reasoning, found, called("fc_1", { namespace: "crm", caller: { type: "direct" } })];
      const given = [responseOf(answered, ...output), responseOf(answered, said), responseOf(answered, said)];
      const sent = await converse(way, given, gpt(asked, responses));
      expect(listIn(sent[1]).slice(1, 4)).toEqual(output);
      expect(listIn(sent[2]).slice(1, 4)).toEqual(output);
    });

    it("keeps the namespace and the caller of calls for another model, without its reasoning.", async () => {
      const parts = { namespace: "crm", caller: { type: "program", caller_id: "call_prog" } };
      const answer = responseOf("gpt-5", said);
      const given = [responseOf("gpt-5", reasoning, called("fc_1", parts)), answer, answer, answer];
      const sent = await converse(way, given, gpt("gpt-5", responses), gpt("gpt-6", responses));
      const call = { type: "function_call", call_id: "call_fc_1", name: "look", ...parts };
      expect(listIn(sent[3])).toContainEqual({ ...call, arguments: '{"city":"Oslo"}' });
      expect(JSON.stringify(sent[3])).not.toMatch(/rs_1|"id":"fc_1|ZW5j/);
    });

    it("keeps them where nothing is stored.", async () => {
      const given = [
        responseOf("gpt-5", reasoning, called("fc_1", { namespace: "crm" })),
        responseOf("gpt-5", said),
        responseOf("gpt-5", said),
      ];
      const sent = await converse(way, given, gpt("gpt-5", { ...responses, zdrEnabled: true }));
      const calls = listIn(sent[1]).filter(({ type }) => type === "function_call");
      expect(calls).toMatchObject([{ call_id: "call_fc_1", namespace: "crm" }]);
      expect(JSON.stringify(sent[1])).toContain("ZW5j");
    });
  });

  describe("Another host with the Responses API", () => {
    const xai = { useResponsesApi: true, ...at("https://api.x.ai/v1") };

    it("gets its items as they are, also two with one id, and long ones.", async () => {
      const long = `fc_${"x".repeat(80)}`;
      const output = [reasoning, { ...found, id: "rs_1" }, called(long)];
      const given = [responseOf("grok-4", ...output), responseOf("grok-4", said), responseOf("grok-4", said)];
      const sent = await converse(way, given, gpt("grok-4", xai));
      expect(listIn(sent[1]).slice(1, 4)).toEqual(output);
    });

    it("gets reasoning without an id.", async () => {
      const { id: _, ...encrypted } = reasoning;
      const { id: __, ...call } = called("fc_1");
      const given = [
        responseOf("grok-4", encrypted, call),
        responseOf("grok-4", said),
        responseOf("grok-4", said),
      ];
      const sent = await converse(way, given, gpt("grok-4", xai));
      expect(listIn(sent[1]).slice(1, 3)).toEqual([encrypted, call]);
    });

    it("gets no empty message beside the calls of another model.", async () => {
      const answer = responseOf("gpt-5", said);
      const given = [responseOf("gpt-5", reasoning, called("fc_1")), answer, answer, answer];
      const other = gpt("deepseek-chat", { useResponsesApi: true, ...at("https://api.deepseek.com") });
      const sent = await converse(way, given, gpt("gpt-5", { useResponsesApi: true }), other);
      expect(listIn(sent[3]).filter(({ content }) => content === "")).toEqual([]);
    });
  });

  describe("A host with OpenAI's protocol", () => {
    const fields = { future_state: { a: [1] }, proof: "c2ln", reasoning_content: "I look." };
    const callFields = { future_mark: "bWFyaw", weights: [1, 2] };
    const house = at("https://models.house.example/v1");
    const call = {
      id: "call_1",
      type: "function",
      function: { name: "look", arguments: '{"city":"Oslo"}' },
      ...callFields,
    };
    const given = [
      completion("resolved/house-2", { content: null, tool_calls: [call], ...fields }),
      completion("resolved/house-2", { content: "Clear." }),
      completion("resolved/house-2", { content: "Clear." }),
      completion("resolved/house-2", { content: "Clear." }),
    ];

    it("gets back each field that it added to a message and a call.", async () => {
      const sent = await converse(way, given, gpt("house", house));
      for (const body of sent.slice(1))
        expect(assistantsIn(body)[0]).toMatchObject({ ...fields, tool_calls: [call] });
    });

    it.each([
      ["another host", gpt("house", at("https://other.example/v1"))],
      ["another model of the host", gpt("house-large", house)],
      ["OpenAI", gpt("gpt-5")],
    ])("and %s gets none of them.", async (_, other) => {
      const sent = await converse(way, given, gpt("house", house), other);
      expect(assistantsIn(sent[3])[0]?.["tool_calls"]).toMatchObject([{ id: "call_1" }]);
      expect(JSON.stringify(sent[3])).not.toMatch(/future|proof|weights|I look/);
    });
  });

  it("Two deployments of Azure are two models, whatever their client calls them.", async () => {
    const deployment =
      (azureOpenAIApiDeploymentName: string): Making =>
      (fields) =>
        new AzureChatOpenAI({
          azureOpenAIApiKey: "x",
          azureOpenAIApiInstanceName: "house",
          azureOpenAIApiVersion: "2025-04-01-preview",
          azureOpenAIApiDeploymentName,
          useResponsesApi: true,
          maxRetries: 0,
          ...fields,
        });
    const answer = responseOf("gpt-5-2025-08-07", said);
    const given = [responseOf("gpt-5-2025-08-07", reasoning, called("fc_1")), answer, answer, answer];
    const sent = await converse(way, given, deployment("one"), deployment("two"));
    expect(listIn(sent[2]).slice(1, 3)).toEqual([reasoning, called("fc_1")]);
    expect(JSON.stringify(sent[3])).not.toMatch(/rs_1|ZW5j/);
  });

  it("Groq's compound, which answers as another model, keeps its reasoning.", async () => {
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: '{"city":"Oslo"}' } };
    const first = { content: null, reasoning: "I look.", tool_calls: [call] };
    const answer = completion("groq/compound", { content: "Clear." });
    const groq: Making = (fields) => Object.assign(new ChatGroq({ ...key, model: "compound-beta" }), fields);
    const sent = await converse(way, [completion("groq/compound", first), answer, answer], groq);
    expect(assistantsIn(sent[1])[0]).toMatchObject({ reasoning: "I look." });
  });

  it("Gemini gets the parts of its own tools, and those with only a signature, in their places.", async () => {
    const parts = [
      { toolCall: { id: "t1", toolType: "GOOGLE_SEARCH", args: { q: "sky" } }, thoughtSignature: "b25l" },
      {
        toolResponse: { id: "t1", toolType: "GOOGLE_SEARCH", response: { found: 1 } },
        thoughtSignature: "dHdv",
      },
      { functionCall: { id: "f1", name: "look", args: { city: "Oslo" } }, thoughtSignature: "dGhyZWU" },
      { thought: true, thoughtSignature: "Zm91cg" },
    ];
    const given = [generated(...parts), generated({ text: "Clear." }), generated({ text: "Clear." })];
    const google: Making = (fields) => new ChatGoogle({ ...key, model: "gemini-3-pro-preview", ...fields });
    const sent = await converse(way, given, google);
    for (const body of sent.slice(1))
      expect(listIn(body).find(({ role }) => role === "model")?.["parts"]).toEqual(parts);
  });
});
