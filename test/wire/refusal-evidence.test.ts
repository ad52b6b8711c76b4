/**
 * What a refusal is evidence of, over HTTP with the real clients. A key, an account, a policy, a model or a parameter
 * takes one request. Words that nobody knows say nothing, unless the same parameters were accepted before.
 */

import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentEvent,
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
} from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLook } from "../support/chain-script.js";
import { clientAt, openAIAt } from "../support/clients.js";
import { openAgent, openThread } from "../support/open-thread.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const strict = stopAtEnd(await startStrictProvider());

let count = 0;
/** Each has a name of its own, so that nothing is known about it. */
function openAI(fields: Parameters<typeof openAIAt>[1] = {}) {
  count += 1;
  return openAIAt(`${strict.url("openai")}/v1`, { model: `model-${count}`, ...fields });
}

const openAIBody = (message: string, more: object = {}) => ({
  error: { message, type: "invalid_request_error", param: null, code: null, ...more },
});

const { look } = createLook();
const other = createProbe().fast;
const past = () => [
  new HumanMessage({ id: "u1", content: "Look." }),
  new AIMessage({
    id: "a1",
    content: "",
    tool_calls: [{ id: "abcdefgh1", name: "look", args: { city: "Oslo" } }],
  }),
  new ToolMessage({ id: "t1", content: "Oslo: clear", tool_call_id: "abcdefgh1", name: "look" }),
  new AIMessage({ id: "a2", content: "It is clear." }),
];

const graphOf = (model: BaseChatModel, options: Partial<AgentGraphOptions> = {}) =>
  openThread(createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options }));

const rungsIn = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === "input-reduced" ? [event.rung] : []));

/** Recorded and reported. The fields are those of the provider. */
const NOT_OF_CONTENT: readonly (readonly [title: string, status: number, body: object])[] = [
  [
    "xAI's key",
    400,
    {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai.",
    },
  ],
  [
    "Vertex AI's temperature",
    400,
    {
      error: {
        code: 400,
        message:
          "Unable to submit request because it has a temperature value of 3 but the supported range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again.",
        status: "INVALID_ARGUMENT",
      },
    },
  ],
  ["Anthropic's effort", 400, openAIBody("This model does not support the effort parameter.")],
  ["a policy on cyber attacks", 400, openAIBody("This request cannot be served.", { code: "cyber_policy" })],
  ["a content policy", 400, openAIBody("Your request was rejected.", { code: "content_policy_violation" })],
  ["a moderation", 400, openAIBody("Your request was rejected.", { code: "moderation_blocked" })],
  [
    "MiniMax's filter",
    400,
    {
      type: "error",
      error: { type: "bad_request_error", message: "invalid params, input new_sensitive (1026)" },
    },
  ],
  ["MiniMax's number", 400, { base_resp: { status_code: 1027, status_msg: "output" } }],
  [
    "GLM's filter",
    400,
    { error: { code: "1301", message: "系统检测到输入或生成内容可能包含不安全或敏感内容" } },
  ],
  [
    "thinking with a forced tool",
    400,
    openAIBody("Thinking may not be enabled when tool_choice forces tool use."),
  ],
  ["a temperature", 400, openAIBody("`temperature` may only be set to 1 when thinking is enabled.")],
  ["an organization", 400, openAIBody("This organization has been disabled.")],
  ["a workspace", 400, openAIBody("You have reached your specified workspace API usage limits.")],
  ["a budget", 400, openAIBody("Budget 0 is invalid. This model only works in thinking mode.")],
  [
    "a response format",
    400,
    openAIBody("Function calling with a response mime type: 'application/json' is unsupported"),
  ],
  ["reasoning", 400, openAIBody("Reasoning is mandatory for this endpoint and cannot be disabled.")],
  [
    "LiteLLM's parameters",
    400,
    openAIBody(
      "litellm.UnsupportedParamsError: sagemaker does not support parameters: ['tools'], for model=x.",
      { param: "None" },
    ),
  ],
  ["tools", 400, openAIBody("registry.ollama.ai/library/gemma3:1b does not support tools")],
  ["tool use", 400, openAIBody("This model does not support tool use.")],
  [
    "Groq's terms",
    400,
    openAIBody("The model `x` requires terms acceptance. Please have the org admin accept the terms.", {
      code: "model_terms_required",
    }),
  ],
  [
    "Groq's tokens a minute",
    413,
    openAIBody(
      "Request too large for model `x` in organization `org_1` on tokens per minute (TPM): Limit 6000, Requested 9000.",
      { type: "tokens", code: "rate_limit_exceeded" },
    ),
  ],
  ["a parameter's name", 400, openAIBody("Out of range.", { param: "top_k" })],
  ["FastAPI's field", 422, { detail: [{ type: "x", loc: ["body", "top_n"], msg: "Out of range" }] }],
  [
    "Google's reason",
    400,
    {
      error: {
        code: 400,
        message: "Not today.",
        status: "INVALID_ARGUMENT",
        details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }],
      },
    },
  ],
  ["AWS's exception", 400, { __type: "com.amazon.coral#AccessDeniedException", message: "Not today." }],
  [
    "OpenRouter's provider",
    400,
    {
      error: {
        code: 400,
        message: "Provider returned error",
        metadata: {
          provider_name: "x",
          raw: JSON.stringify(openAIBody("Out of range.", { param: "top_k" })),
        },
      },
    },
  ],
  [
    "too many tools",
    400,
    openAIBody(
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
      { param: "tools", code: "array_above_max_length" },
    ),
  ],
];

describe.each(NOT_OF_CONTENT)("%s", (_, status, body) => {
  it("takes one request on a first turn, and in a thread with a past", async () => {
    for (const before of [[], past()]) {
      const thread = graphOf(openAI());
      await thread.graph.updateState({ configurable: { thread_id: "1" } }, { messages: before });
      strict.failNext({ status, body });
      const { error, events } = await thread.send("And now?");
      expect(error).toMatchObject({ code: "MODEL_FAILED", status });
      expect(strict.statuses).toEqual([status]);
      expect(rungsIn(events)).toEqual([]);
    }
  });
});

describe("Words that nobody knows", () => {
  const refusal = { status: 400, body: openAIBody("Zwölf Boxkämpfer jagen Eva.") };

  it("take one request on a first turn", async () => {
    const thread = graphOf(openAI(), { systemPrompt: "Be brief." });
    strict.failNext(refusal);
    expect(String((await thread.send("Hello!")).error)).toContain("Zwölf Boxkämpfer");
    expect(strict.statuses).toEqual([400]);
  });

  it("retell a thread of another process, whose parameters are unknown", async () => {
    const thread = graphOf(openAI());
    await thread.graph.updateState({ configurable: { thread_id: "1" } }, { messages: past() });
    strict.failNext(refusal);
    const { error, events } = await thread.send("And now?");
    expect(error).toBeUndefined();
    expect(rungsIn(events)).toEqual(["retold"]);
  });

  it("end the turn of a thread that another model has written", async () => {
    const thread = graphOf(openAI());
    const [asked, ...others] = past();
    const foreign = others.map((message) =>
      Object.assign(message, { response_metadata: { model_name: "claude-x" } }),
    );
    await thread.graph.updateState({ configurable: { thread_id: "1" } }, { messages: [asked, ...foreign] });
    strict.failNext(refusal);
    expect((await thread.send("And now?")).error).toBeDefined();
    expect(strict.statuses).toEqual([400]);
  });

  /** What the second turn has that the first had not. */
  const NEW = {
    "another tool": { model: {}, graph: { tools: [look, other] } },
    "a forced call": { model: {}, graph: { toolChoice: "required" } },
    "another setting of the client": { model: { temperature: 0.3 }, graph: {} },
    nothing: { model: {}, graph: {} },
  } as const;

  it.each(Object.entries(NEW))("in the second turn of a thread, with %s", async (title, changed) => {
    const model = openAI();
    const checkpointer = new MemorySaver();
    const first = openThread(createAgentGraph({ model, tools: [look], checkpointer }));
    strict.failNext();
    expect((await first.send("Hello!")).error).toBeUndefined();
    const other = openAI({ model: model.model, ...changed.model });
    const second = openThread(
      createAgentGraph({ model: other, tools: [look], checkpointer, ...changed.graph }),
    );
    strict.failNext(refusal);
    const { error } = await second.send("And now?");
    expect(strict.statuses).toEqual(title === "nothing" ? [400, 200] : [400]);
    expect(error === undefined).toBe(title === "nothing");
  });

  it("the same holds under `tetherMiddleware`, for a tool choice", async () => {
    const model = openAI();
    let toolChoice: string | undefined;
    const forcing = {
      name: "forcing",
      wrapModelCall: (request: object, handler: (request: object) => unknown) =>
        handler({ ...request, toolChoice }),
    };
    const thread = openAgent({ model, tools: [look], middleware: [forcing, tetherMiddleware()] });
    strict.failNext();
    expect((await thread.run(user("Hello!"))).error).toBeUndefined();
    toolChoice = "none";
    strict.failNext(refusal);
    expect((await thread.run(user("And now?"))).error).toBeDefined();
    expect(strict.statuses).toEqual([400]);
    toolChoice = undefined;
    strict.failNext(refusal);
    expect((await thread.run(user("And now?"))).error).toBeUndefined();
    expect(strict.statuses).toEqual([400, 200]);
  });

  it("a place in the messages is evidence, whatever else is new", async () => {
    const bodies = [
      openAIBody("Zwölf.", { param: "messages.[1].tool_calls" }),
      openAIBody("messages.1.content.0: zwölf"),
      { detail: [{ type: "x", loc: ["body", "messages", 1, "content"], msg: "Zwölf" }] },
      { object: "error", message: "Zwölf", type: "BadRequestError", param: "messages", code: 400 },
    ];
    for (const body of bodies) {
      const thread = graphOf(openAI());
      const named = past().map((message) =>
        Object.assign(message, { response_metadata: { model_name: "claude-x" } }),
      );
      await thread.graph.updateState({ configurable: { thread_id: "1" } }, { messages: named });
      strict.failNext({ status: 400, body });
      const { error, events } = await thread.send("And now?");
      expect({ body, error }).toEqual({ body, error: undefined });
      expect(rungsIn(events)).toEqual(["retold"]);
    }
  });
});

describe("The body of a host that has another form than OpenAI's is read", () => {
  it.each([
    ["vLLM", { object: "error", message: "Twelve boxers.", type: "BadRequestError", param: null, code: 400 }],
    ["FastAPI", { detail: [{ loc: ["body"], msg: "Twelve boxers.", type: "x" }] }],
    ["Mistral", { object: "error", message: "Twelve boxers.", type: "invalid_request", code: "3230" }],
    ["xAI", { code: "x", error: "Twelve boxers." }],
    ["Google", [{ error: { code: 400, message: "Twelve boxers.", status: "INVALID_ARGUMENT" } }]],
  ])("%s", async (_, body) => {
    for (const useResponsesApi of [false, true]) {
      strict.failNext({ status: 400, body });
      const { error } = await graphOf(openAI({ useResponsesApi })).send("Hello!");
      expect(String(error)).toBe(
        "ModelError: The provider refused the request with status 400: Twelve boxers.",
      );
    }
  });

  it("and the client itself stays as it was", async () => {
    const model = openAI();
    strict.failNext({ status: 400, body: { message: "Twelve boxers." } });
    await graphOf(model).send("Hello!");
    strict.failNext({ status: 400, body: { message: "Twelve boxers." } });
    await expect(model.invoke("Hello!")).rejects.toThrow("400 status code (no body)");
  });
});

describe("What helped after words that nobody knows", () => {
  const refusal = (id: string) => ({ status: 400, body: openAIBody(`Zwölf Boxkämpfer (request ${id}).`) });

  it("helps in its turn, is tried without in the next, and is remembered when the same words come again", async () => {
    const thread = graphOf(openAI());
    await thread.graph.updateState({ configurable: { thread_id: "1" } }, { messages: past() });
    const isRetold = () => JSON.stringify(strict.lastRequest()).includes("This is the conversation so far");
    const send = async (text: string, failure?: ReturnType<typeof refusal>) => {
      strict.failNext(...(failure === undefined ? [] : [failure]));
      expect((await thread.send(text)).error).toBeUndefined();
      return { statuses: [...strict.statuses], isRetold: isRetold() };
    };
    expect(await send("One.", refusal("1a"))).toEqual({ statuses: [400, 200], isRetold: true });
    expect(await send("Two.")).toEqual({ statuses: [200], isRetold: false });
    expect(await send("Three.", refusal("7f"))).toEqual({ statuses: [400, 200], isRetold: true });
    expect(await send("Four.")).toEqual({ statuses: [200], isRetold: true });
    expect(await send("Five.")).toEqual({ statuses: [200], isRetold: true });
  });
});

describe("A failure of sampling", () => {
  const FAILURES: readonly (readonly [title: string, body: object])[] = [
    [
      "tool_use_failed",
      openAIBody(
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        { code: "tool_use_failed", failed_generation: "<function=look>" },
      ),
    ],
    [
      "json_validate_failed",
      openAIBody("Failed to generate JSON.", { code: "json_validate_failed", failed_generation: "" }),
    ],
    ["a failed generation without a code", openAIBody("Failed.", { failed_generation: "<x>" })],
    ["OpenRouter's error without words", { error: { code: 400, message: "Provider returned error" } }],
    [
      "OpenRouter's error with nothing in it",
      {
        error: {
          code: 400,
          message: "Provider returned error",
          metadata: { raw: "ERROR", provider_name: "x" },
        },
      },
    ],
    ["a request to retry", openAIBody("Something went wrong with this generation. Please retry.")],
    [
      "Gemini's",
      { error: { code: 400, message: "MALFORMED_FUNCTION_CALL", status: "MALFORMED_FUNCTION_CALL" } },
    ],
  ];

  it.each(FAILURES)("%s: the same request follows, and no mark", async (_, body) => {
    for (const open of [
      async () => {
        const { graph, send, read } = graphOf(openAI());
        await graph.updateState({ configurable: { thread_id: "1" } }, { messages: past() });
        return { send, read };
      },
      async () => {
        const thread = openAgent({ model: openAI(), tools: [look] });
        await thread.update(past());
        return { send: (text: string) => thread.run(user(text)), read: thread.read };
      },
    ]) {
      const { send, read } = await open();
      strict.failNext({ status: 400, body }, { status: 400, body });
      const { error, events } = await send("And now?");
      expect(error).toBeUndefined();
      expect(strict.statuses).toEqual([400, 400, 200]);
      expect(events.filter(({ type }) => type === "response-broken")).toEqual([
        { type: "response-broken", reason: "sampling-failed" },
        { type: "response-broken", reason: "sampling-failed" },
      ]);
      expect(rungsIn(events)).toEqual([]);
      expect((await read()).at(-1)?.additional_kwargs).not.toHaveProperty("tether_reduced");
    }
  });

  it("is the run's error after `maxStreamFallbackAttempts` further requests, with the provider's words", async () => {
    const thread = graphOf(openAI(), { maxStreamFallbackAttempts: 1 });
    await thread.graph.updateState({ configurable: { thread_id: "1" } }, { messages: past() });
    const body = openAIBody("Failed to call a function.", { code: "tool_use_failed" });
    strict.failNext({ status: 400, body }, { status: 400, body }, { status: 400, body });
    expect(String((await thread.send("And now?")).error)).toContain("Failed to call a function.");
    expect(strict.statuses).toEqual([400, 400]);
  });

  it("a user who asks for it changes nothing", async () => {
    const text = "I do not know what to do about the weather in Oslo, so please try again.";
    const thread = graphOf(openAI());
    strict.failNext({ status: 400, body: openAIBody(text) });
    expect((await thread.send(text)).error).toBeDefined();
    expect(strict.statuses).toEqual([400]);
  });

  it("what OpenRouter's provider says is not one", async () => {
    const raw = JSON.stringify(openAIBody("Zwölf Boxkämpfer."));
    const body = {
      error: { code: 400, message: "Provider returned error", metadata: { raw, provider_name: "x" } },
    };
    strict.failNext({ status: 400, body });
    expect((await graphOf(openAI()).send("Hello!")).error).toBeDefined();
    expect(strict.statuses).toEqual([400]);
  });
});

describe("A request that is far longer than any that was accepted", () => {
  const long = "a sentence of some words ".repeat(6_000);
  it("is sent shorter first, and nothing is retold", async () => {
    const thread = graphOf(openAI(), { maxTokensBeforeSummary: 0 });
    strict.failNext();
    await thread.send("Hello!");
    strict.failNext({ status: 400, body: openAIBody("Zwölf Boxkämpfer.") });
    const { error, events } = await thread.send(long);
    expect(error).toBeUndefined();
    expect(rungsIn(events)).toEqual(["shortened"]);
    expect(strict.statuses).toEqual([400, 200]);
    expect(JSON.stringify(strict.lastRequest()).length).toBeLessThan(long.length * 0.5);
  });

  it("one that is about as long is retold", async () => {
    const thread = graphOf(openAI(), { maxTokensBeforeSummary: 0 });
    strict.failNext();
    await thread.send(long);
    strict.failNext({ status: 400, body: openAIBody("Zwölf Boxkämpfer.") });
    expect(rungsIn((await thread.send("And now?")).events)).toEqual(["retold"]);
  });
});

describe("The API that the refusal names", () => {
  const host = "https://api.openai.com/v1";
  /** OpenAI serves each model with one of its protocols. */
  function served(model: string, has: "responses" | "chat/completions", words: string, fields: object = {}) {
    const paths: string[] = [];
    const redirect: typeof fetch = async (url, init) => {
      const path = String(url).slice(host.length + 1);
      paths.push(path);
      if (path !== has) return Response.json(openAIBody(words), { status: has === "responses" ? 400 : 404 });
      const provider = has === "responses" ? "openai-responses" : "openai";
      return fetch(`${strict.url(provider)}/v1/${path}`, init);
    };
    const make = () =>
      openAIAt(host, { model, configuration: { baseURL: host, fetch: redirect }, ...fields });
    return { make, paths };
  }
  const TOOLS =
    "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. Please use /v1/responses instead.";
  const ONLY = "This model is only supported in v1/responses and not in v1/chat/completions.";
  const CHAT = "The model is not supported in v1/responses. Please use /v1/chat/completions instead.";

  it.each([
    ["responses", "gpt-x-1", TOOLS, {}],
    ["responses", "gpt-x-2", ONLY, {}],
    ["chat/completions", "gpt-x-3", CHAT, { useResponsesApi: true }],
  ] as const)("%s: %s is asked there, also when it is made again", async (has, name, words, fields) => {
    const other = has === "responses" ? "chat/completions" : "responses";
    const { make, paths } = served(name, has, words, fields);
    strict.failNext();
    const { error, events } = await graphOf(make()).send("Hello!");
    expect(error).toBeUndefined();
    expect(paths).toEqual([other, has]);
    const api = has === "responses" ? "responses" : "completions";
    expect(events.filter(({ type }) => type === "api-switched")).toEqual([
      { type: "api-switched", api, reason: words },
    ]);
    paths.length = 0;
    const thread = openAgent({ model: make(), tools: [look] });
    expect((await thread.run(user("Hello!"))).error).toBeUndefined();
    expect((await thread.run(user("And now?"))).error).toBeUndefined();
    expect(paths).toEqual([has, has]);
  });

  it("is asked there by several first requests at once", async () => {
    const { make, paths } = served("gpt-x-6", "responses", ONLY);
    strict.failNext();
    const model = make();
    const agents = [graphOf(model), graphOf(model), graphOf(model)];
    const runs = await Promise.all(agents.map((agent) => agent.send("Hello!")));
    expect(runs.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    expect(paths.filter((path) => path === "responses")).toHaveLength(3);
  });

  it("is asked there also after a middleware has dropped what it said", async () => {
    const { make, paths } = served("gpt-x-7", "responses", ONLY);
    strict.failNext();
    const insist = chatMiddleware(
      async (_, next) => {
        for (let attempt = 0; attempt < 5; attempt += 1) await next();
      },
      { retry: true },
    );
    expect((await graphOf(make(), { middleware: [insist] }).send("Hello!")).error).toBeUndefined();
    expect(paths).toEqual(["chat/completions", ...Array.from({ length: 5 }, () => "responses")]);
  });

  it("is asked there no more if it accepts nothing there", async () => {
    const { make, paths } = served("gpt-x-5", "responses", ONLY);
    strict.failNext({ status: 400, body: openAIBody("Zwölf Boxkämpfer.") });
    const { error } = await graphOf(make()).send("Hello!");
    expect(error).toMatchObject({ message: expect.stringContaining(ONLY) });
    expect(paths).toEqual(["chat/completions", "responses"]);
    paths.length = 0;
    strict.failNext();
    await graphOf(make()).send("Hello!");
    expect(paths).toEqual(["chat/completions", "responses"]);
  });

  it("a user who writes it changes nothing", async () => {
    const { make, paths } = served("gpt-x-4", "responses", `Cannot read "${ONLY}"`);
    expect((await graphOf(make()).send(ONLY)).error).toBeDefined();
    expect(paths).toEqual(["chat/completions"]);
  });

  it("a client with one API gets the error", async () => {
    strict.failNext({ status: 400, body: { type: "error", error: { type: "x", message: ONLY } } });
    const model = await clientAt("anthropic", strict.url("anthropic"));
    expect(model).toBeInstanceOf(ChatAnthropic);
    expect((await graphOf(model).send("Hello!")).error).toBeDefined();
    expect(strict.statuses).toEqual([400]);
  });
});
