/**
 * What a host puts into its responses comes back to it, through the real clients: each host here demands it, as the real
 * one does or as its documents ask.
 */

import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGroq } from "@langchain/groq";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { ChatOpenRouter } from "@langchain/openrouter";
import { ChatXAI } from "@langchain/xai";
import { createAgent } from "langchain";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { listen } from "../support/listen.js";
import { Listener } from "../support/listener.js";
import { FunctionModel } from "../support/models.js";
import { leadRequests, stopAtEnd } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";

type Fields = Readonly<Record<string, unknown>>;

interface Host {
  readonly title: string;
  readonly model: (more?: object) => BaseChatModel;
  /** The fields of the message with the call, and of the call. */
  readonly given: Fields;
  readonly givenWithCall?: Fields;
  /** What comes back, if it has another name. @default as given */
  readonly wanted?: Fields;
  /** The host's words if the fields do not come back. Undefined: it says nothing, and its model is worse. */
  readonly refusal?: string;
}

const UNSIGNED = `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:look\`, position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`;
const UNPRESERVED =
  "Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning-blocks.";
const KIMI = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1";
const SENTINEL = "skip_thought_signature_validator";

const fields = { apiKey: "x", maxRetries: 0 };
const openAIAt =
  (baseURL: string, model: string) =>
  (more: object = {}) =>
    new ChatOpenAI({ ...fields, model, configuration: { baseURL }, ...more });

const GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai/";
const OPENROUTER = "https://openrouter.ai/api/v1";
const openRouter =
  (model: string) =>
  (more: object = {}) =>
    Object.assign(new ChatOpenRouter({ ...fields, model }), more);

const TEXT = "I should look out of the window.";
const signature = { google: { thought_signature: "c2lnbmVk" } };
/** As OpenRouter gives them: a text in pieces, and a signature in one. */
const DETAILS = [
  { type: "reasoning.text", text: TEXT, format: "google-gemini-v1", index: 0 },
  {
    type: "reasoning.encrypted",
    data: "ZW5jcnlwdGVk",
    id: "call_1",
    format: "google-gemini-v1",
    index: 0,
  },
];
const SIGNED_TEXT = [
  { type: "reasoning.text", text: TEXT, signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
];

const HOSTS: readonly Host[] = [
  {
    title: "Gemini 3 at Google's endpoint",
    model: openAIAt(GOOGLE, "gemini-3-pro-preview"),
    given: {},
    givenWithCall: { extra_content: signature },
    refusal: UNSIGNED,
  },
  {
    title: "Gemini 3 at Vertex AI's endpoint, with a signature of the text",
    model: openAIAt(
      "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi",
      "google/gemini-3-pro-preview",
    ),
    given: { extra_content: { google: { thought_signature: "dGV4dA==" } } },
    givenWithCall: { extra_content: signature },
    refusal: UNSIGNED,
  },
  {
    title: "Gemini 3 at OpenRouter",
    model: openAIAt(OPENROUTER, "google/gemini-3-pro-preview"),
    given: { reasoning: TEXT, reasoning_details: DETAILS },
    refusal: UNPRESERVED,
  },
  {
    title: "Gemini 3 at OpenRouter, with `ChatOpenRouter`",
    model: openRouter("google/gemini-3-pro-preview"),
    given: { reasoning: TEXT, reasoning_details: DETAILS },
    refusal: UNPRESERVED,
  },
  {
    title: "Claude at OpenRouter",
    model: openAIAt(OPENROUTER, "anthropic/claude-sonnet-4.5"),
    given: { reasoning: TEXT, reasoning_details: SIGNED_TEXT },
  },
  {
    title: "Claude at OpenRouter, with `ChatOpenRouter`",
    model: openRouter("anthropic/claude-sonnet-4.5"),
    given: { reasoning: TEXT, reasoning_details: SIGNED_TEXT },
  },
  {
    title: "Claude at LiteLLM",
    model: openAIAt("http://litellm.internal:4000/v1", "claude-sonnet-4-5"),
    given: {
      reasoning_content: TEXT,
      thinking_blocks: [{ type: "thinking", thinking: TEXT, signature: "c2ln" }],
    },
  },
  {
    title: "Gemini 3 at LiteLLM",
    model: openAIAt("http://litellm.internal:4000/v1", "gemini/gemini-3-pro-preview"),
    given: {
      reasoning_content: TEXT,
      provider_specific_fields: { thought_signatures: ["dGV4dA=="] },
    },
    givenWithCall: { provider_specific_fields: { thought_signature: "c2lnbmVk" } },
  },
  {
    title: "GLM at Merge Gateway",
    model: openAIAt("https://gateway.example/v1/openai", "zai/glm-5"),
    given: { thinking: TEXT, thinking_signature: "c2lnbmVk" },
  },
  {
    title: "Gemini 3 at GitHub Copilot",
    model: openAIAt("https://api.githubcopilot.com", "gemini-3-pro-preview"),
    given: { reasoning_text: TEXT, reasoning_opaque: "b3BhcXVl" },
  },
  {
    title: "GPT at OpenRouter",
    model: openAIAt(OPENROUTER, "openai/gpt-5"),
    given: {
      reasoning_details: [
        { type: "reasoning.encrypted", data: "Z3B0", id: "rs_1", format: "openai-responses-v1", index: 0 },
      ],
    },
  },
  {
    title: "MiniMax",
    model: openAIAt("https://api.minimax.io/v1", "MiniMax-M2"),
    given: {
      reasoning_details: [
        {
          type: "reasoning.text",
          id: "reasoning-text-1",
          format: "MiniMax-response-v1",
          index: 0,
          text: TEXT,
        },
      ],
    },
  },
  {
    title: "Kimi",
    model: openAIAt("https://api.moonshot.cn/v1", "kimi-k2.5"),
    given: { reasoning_content: TEXT },
    refusal: KIMI,
  },
  {
    title: "GLM",
    model: openAIAt("https://open.bigmodel.cn/api/paas/v4", "glm-4.6"),
    given: { reasoning_content: TEXT },
  },
  {
    title: "Qwen at DashScope",
    model: openAIAt("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3.6-plus"),
    given: { reasoning_content: TEXT },
  },
  {
    title: "gpt-oss on vLLM",
    model: openAIAt("http://gpu-7.internal:8000/v1", "openai/gpt-oss-120b"),
    given: { reasoning: TEXT },
  },
  {
    title: "gpt-oss at Together",
    model: openAIAt("https://api.together.xyz/v1", "openai/gpt-oss-120b"),
    given: { reasoning: TEXT },
  },
  {
    title: "gpt-oss at Groq, with `ChatGroq`",
    model: (more) => Object.assign(new ChatGroq({ ...fields, model: "openai/gpt-oss-120b" }), more),
    given: { reasoning: TEXT },
  },
  {
    title: "Grok, with `ChatXAI`",
    model: (more) => new ChatXAI({ ...fields, model: "grok-3-mini", ...more }),
    given: { reasoning_content: TEXT },
  },
  {
    title: "DeepSeek on vLLM",
    model: openAIAt("http://gpu-7.internal:8000/v1", "deepseek-ai/DeepSeek-V3.2"),
    given: { reasoning: TEXT },
    wanted: { reasoning: TEXT, reasoning_content: TEXT },
  },
  {
    title: "DeepSeek, with `ChatDeepSeek`",
    model: (more) => new ChatDeepSeek({ ...fields, model: "deepseek-chat", ...more }),
    given: { reasoning_content: TEXT },
    refusal: "The `reasoning_content` in the thinking mode must be passed back to the API.",
  },
];

/*
 * One server for every host. It gives the responses of the test in turn, and notes what it is sent.
 */

const requests: Fields[] = [];
let answers: Fields[] = [];
/** Whether a request is refused, and with which words. */
let refusalOf: (messages: readonly Fields[]) => string | undefined = () => undefined;

const server = createServer(async (request, response) => {
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
  const message = refusalOf(body.messages);
  if (message !== undefined) {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, code: 400 } }));
    return;
  }
  requests.push(body);
  const answer = answers.shift() ?? {};
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  const head = { id: `gen-${requests.length}`, created: 1, model: body.model, usage };
  const finish_reason = answer["tool_calls"] === undefined ? "stop" : "tool_calls";
  if (body.stream !== true) {
    const choices = [{ index: 0, message: { role: "assistant", ...answer }, finish_reason }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...head, object: "chat.completion", choices }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const deltas = piecesOf(answer);
  for (const [index, delta] of deltas.entries()) {
    const choice = { index: 0, delta, finish_reason: index === deltas.length - 1 ? finish_reason : null };
    const chunk = { ...head, object: "chat.completion.chunk", choices: [choice] };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end("data: [DONE]\n\n");
});

const halves = (text: string) => [text.slice(0, 9), text.slice(9)];

/** The deltas of a streamed message: reasoning in pieces, and signatures at the end of what they sign. */
function piecesOf({ content, tool_calls, reasoning_details, ...texts }: Fields): Fields[] {
  const written = Object.entries(texts).flatMap(([name, value]) =>
    typeof value === "string" ? halves(value).map((half) => ({ [name]: half })) : [{ [name]: value }],
  );
  const details = (Array.isArray(reasoning_details) ? reasoning_details : []).flatMap((detail: Fields) => {
    if (typeof detail["text"] !== "string") return [{ reasoning_details: [detail] }];
    const { text, signature: signed, ...rest } = detail;
    const [first, second] = halves(String(text));
    const last = signed === undefined ? [] : [{ ...rest, signature: signed }];
    return [{ ...rest, text: first }, { ...rest, text: second }, ...last].map((piece) => ({
      reasoning_details: [piece],
    }));
  });
  const calls = (Array.isArray(tool_calls) ? tool_calls : []).flatMap((call, index) => {
    const [first, second] = halves(call.function.arguments);
    return [
      { tool_calls: [{ index, ...call, function: { ...call.function, arguments: first } }] },
      { tool_calls: [{ index, function: { arguments: second } }] },
    ];
  });
  return [{ role: "assistant", content: "" }, ...written, ...details, ...calls, { content }];
}

const { url } = stopAtEnd(await listen(server));
const { fetch: send } = globalThis;
leadRequests(async (input, init) => {
  const request = new Request(input, init);
  const headers = { "content-type": "application/json" };
  return send(url, { method: "POST", headers, body: await request.text() });
});

beforeEach(() => {
  requests.length = 0;
  refusalOf = () => undefined;
});

const callOf = (more: Fields = {}, id = "call_1", city = "Oslo") => ({
  id,
  type: "function",
  function: { name: "look", arguments: JSON.stringify({ city }) },
  ...more,
});

const look = tool(({ city }) => `It is clear in ${city}.`, {
  name: "look",
  schema: z.object({ city: z.string() }),
});

/** Both ways to an agent, each with a thread that is stored and read again. */
const AGENTS = [
  [
    "createAgentGraph",
    (model: BaseChatModel) =>
      createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), maxTokensBeforeSummary: 0 }),
  ],
  [
    "tetherMiddleware",
    (model: BaseChatModel) =>
      createAgent({
        model,
        tools: [look],
        middleware: [tetherMiddleware()],
        checkpointer: new MemorySaver(),
      }),
  ],
] as const;

const sentIn = (body: Fields | undefined): readonly Fields[] => Object(body)["messages"];
const assistantsIn = (body: Fields | undefined) => sentIn(body).filter(({ role }) => role === "assistant");

/** The message without what every message has, and the calls without what every call has. */
function fieldsOf({ role: _, content: _content, name: _name, function_call, tool_calls, ...rest }: Fields) {
  const calls = (Array.isArray(tool_calls) ? tool_calls : []).map(
    ({ id: _id, type: _type, function: _function, ...more }) => more,
  );
  expect(function_call ?? undefined).toBeUndefined();
  return { fields: JSON.parse(JSON.stringify(rest)), calls };
}

const FIELDS = /reasoning|thinking|extra_content|signature|provider_specific/;

describe.each(AGENTS)("%s", (_, agentWith) => {
  describe.each([
    ["in a stream", false],
    ["in one piece", true],
  ])("%s", (_mode, disableStreaming) => {
    it.each(HOSTS.map((host) => [host.title, host] as const))(
      "gives back what it got from %s",
      async (_title, { model: create, given, givenWithCall = {}, wanted = given, refusal }) => {
        const model = create({ disableStreaming });
        const expected = { fields: wanted, calls: [givenWithCall] };
        refusalOf = (messages) => {
          const [first] = messages.filter(({ role }) => role === "assistant");
          const isMissing = first !== undefined && !isDeepStrictEqual(fieldsOf(first), expected);
          return isMissing ? refusal : undefined;
        };
        answers = [
          { content: null, ...given, tool_calls: [callOf(givenWithCall)] },
          { content: "Clear." },
          { content: "Bye." },
        ];
        const agent = agentWith(model);
        const heard = { ...inThread("1"), callbacks: [new Listener()] };
        await agent.invoke(user("The weather?"), heard);
        const messages = pairedMessagesOf(await agent.invoke(user("Thanks."), heard));
        expect(messages.map(({ text }) => text)).toEqual([
          "The weather?",
          "",
          "It is clear in Oslo.",
          "Clear.",
          "Thanks.",
          "Bye.",
        ]);
        expect(requests.map((body) => assistantsIn(body).length)).toEqual([0, 1, 2]);
        for (const request of requests.slice(1)) {
          expect(request["stream"] ?? false).toBe(!disableStreaming);
          const [first] = assistantsIn(request);
          expect(fieldsOf(first ?? {})).toEqual(expected);
        }
      },
    );
  });

  it.each([
    ["another model", openAIAt(OPENROUTER, "qwen/qwen3-max")],
    ["another maker", openAIAt("https://api.openai.com/v1", "gpt-4o")],
    ["OpenAI, which gives no such field", openAIAt("https://api.openai.com/v1", "gpt-oss-120b")],
    ["Mistral, which refuses them", openAIAt("https://api.mistral.ai/v1", "gpt-oss-120b")],
  ])("sends none of them to %s", async (_title, other) => {
    answers = [
      {
        content: null,
        reasoning: TEXT,
        reasoning_content: TEXT,
        reasoning_details: DETAILS,
        tool_calls: [callOf({ extra_content: signature })],
      },
      { content: "Clear." },
      { content: "Bye." },
    ];
    const { messages } = await agentWith(openAIAt(OPENROUTER, "openai/gpt-oss-120b")()).invoke(
      user("The weather?"),
      inThread("1"),
    );
    await agentWith(other()).invoke({ messages: [...messages, new HumanMessage("Thanks.")] }, inThread("2"));
    expect(JSON.stringify(sentIn(requests[1]))).toMatch(FIELDS);
    expect(JSON.stringify(sentIn(requests[2]))).not.toMatch(FIELDS);
  });

  it("sends Groq only the field that it takes", async () => {
    refusalOf = (messages) =>
      JSON.stringify(messages).match(/reasoning_\w+|extra_content/)
        ? "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]"
        : undefined;
    answers = [{ content: "Bye." }, { content: "Bye." }];
    const messages = [
      new HumanMessage("The weather?"),
      new AIMessage({
        content: "Clear.",
        additional_kwargs: { reasoning: TEXT, reasoning_content: TEXT, reasoning_details: DETAILS },
        response_metadata: { model_name: "openai/gpt-oss-120b" },
      }),
      new HumanMessage("Thanks."),
    ];
    for (const model of [
      openAIAt("https://api.groq.com/openai/v1", "openai/gpt-oss-120b")(),
      new ChatGroq({ ...fields, model: "openai/gpt-oss-120b" }),
    ]) {
      await agentWith(model).invoke({ messages }, inThread(model._llmType()));
      expect(fieldsOf(assistantsIn(requests.at(-1))[0] ?? {}).fields).toEqual({ reasoning: TEXT });
    }
  });

  const foreign = (): BaseMessage[] => [
    new HumanMessage("The weather?"),
    new AIMessage({
      content: "",
      tool_calls: [
        { id: "call_1", name: "look", args: { city: "Oslo" } },
        { id: "call_2", name: "look", args: { city: "Rome" } },
      ],
      response_metadata: { model_provider: "openai", model_name: "gpt-5" },
    }),
    new ToolMessage({ content: "18 °C", tool_call_id: "call_1" }),
    new ToolMessage({ content: "25 °C", tool_call_id: "call_2" }),
    new HumanMessage("Go on."),
  ];

  it("sends Google's endpoint the documented sentinel for calls of another model", async () => {
    answers = [{ content: "Bye." }, { content: "Bye." }];
    await agentWith(openAIAt(GOOGLE, "gemini-3-pro-preview")()).invoke(
      { messages: foreign() },
      inThread("1"),
    );
    expect(fieldsOf(assistantsIn(requests[0])[0] ?? {})).toEqual({
      fields: {},
      calls: [{ extra_content: { google: { thought_signature: SENTINEL } } }, {}],
    });
    // Older models need none.
    await agentWith(openAIAt(GOOGLE, "gemini-2.5-pro")()).invoke({ messages: foreign() }, inThread("2"));
    expect(fieldsOf(assistantsIn(requests[1])[0] ?? {})).toEqual({ fields: {}, calls: [{}, {}] });
  });

  it.each([
    ["`ChatOpenAI`", openAIAt(OPENROUTER, "google/gemini-3-pro-preview")],
    ["`ChatOpenRouter`", openRouter("google/gemini-3-pro-preview")],
  ])("sends OpenRouter the sentinel in its own form, with %s", async (_title, create) => {
    answers = [{ content: "Bye." }];
    await agentWith(create()).invoke({ messages: foreign() }, inThread("1"));
    const [first] = assistantsIn(requests[0]);
    expect(fieldsOf(first ?? {})).toEqual({
      fields: {
        reasoning_details: [
          { type: "reasoning.encrypted", data: SENTINEL, id: "call_1", format: "google-gemini-v1", index: 0 },
        ],
      },
      calls: [{}, {}],
    });
  });

  it("leaves a model as it is that only has the name of a client, so that it can have private fields", async () => {
    class Named extends FunctionModel {
      override _llmType(): string {
        return "openai";
      }
    }
    const model = new Named(() => "Clear.");
    const { messages } = await agentWith(model).invoke(user("The weather?"), inThread("1"));
    expect(messages.at(-1)?.text).toBe("Clear.");
  });
});

it("A chat client sees no reasoning as text", async () => {
  answers = [{ content: "Clear.", reasoning: TEXT, reasoning_details: SIGNED_TEXT }];
  const model = openAIAt(OPENROUTER, "anthropic/claude-sonnet-4.5")();
  let text = "";
  const graph = createAgentGraph({ model });
  for await (const [message] of await graph.stream(user("The weather?"), { streamMode: "messages" }))
    text += message.text;
  expect(text).toBe("Clear.");
});
