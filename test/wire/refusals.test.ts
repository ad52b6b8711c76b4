/** The error of a run whose request was refused by the provider, over HTTP with the real clients. */

import { createServer } from "node:http";
import { inspect } from "node:util";
import type { CallbackHandlerMethods } from "@langchain/core/callbacks/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { createAgentGraph, ModelError, validateHistory } from "../../src/index.js";
import { allOf } from "../support/async.js";
import { createLook } from "../support/chain-script.js";
import {
  anthropicAt,
  clientAt,
  clientOf,
  MADE_MODELS,
  makeModelAt,
  openAIAt,
  PROVIDERS,
} from "../support/clients.js";
import { DIALECT_NAMES, toModelError } from "../support/internals.js";
import { listen } from "../support/listen.js";
import {
  ANSWER,
  type ProviderName,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { hastenRetries, stopAtEnd } from "../support/test-tools.js";
import { pairedScript, user } from "../support/thread.js";

const strict = stopAtEnd(
  await startStrictProvider(({ messages }) =>
    messages.at(-1)?.role === "user" && messages.length === 1
      ? { calls: [{ name: "look", args: { city: "Oslo" } }] }
      : { text: ANSWER },
  ),
);

/** A client of OpenAI's address whose requests are redirected to another provider. */
function misdirected(provider: ProviderName) {
  const baseURL = "https://api.openai.com/v1";
  const redirect: typeof fetch = (url, init) =>
    fetch(String(url).replace(baseURL, `${strict.url(provider)}/v1`), init);
  return openAIAt(baseURL, { configuration: { baseURL, fetch: redirect } });
}

const failureOf = (run: Promise<unknown>) =>
  run.then(
    () => expect.unreachable("It was accepted."),
    (error: unknown) => error,
  );

it("A history that is refused without a reason is sent in another form, and the thread lives", async () => {
  const checkpointer = new MemorySaver();
  const { look, looked } = createLook();
  const thread = { configurable: { thread_id: "1" } };
  const agent = (model: BaseChatModel) => createAgentGraph({ model, tools: [look], checkpointer });
  const wrong = agent(misdirected("mistral"));
  strict.failNext();
  const before = pairedScript(await wrong.invoke(user("How is the sky over Oslo?"), thread));

  // Mistral refuses the ids of OpenAI. OpenAI's client drops an error that is not in OpenAI's form.
  expect(strict.statuses).toEqual([200, 400, 200]);
  expect(before).toEqual([
    "human: How is the sky over Oslo?",
    "ai> look",
    "tool: Oslo: clear",
    `ai: ${ANSWER}`,
  ]);

  const right = agent(openAIAt(`${strict.url("mistral")}/v1`, { model: "mistral-small" }));
  const after = pairedScript(await right.invoke(user("And now?"), thread));
  expect(after).toEqual([...before, "human: And now?", `ai: ${ANSWER}`]);
  expect(looked).toEqual(["Oslo"]);
  expect(strict.statuses).toEqual([200, 400, 200, 200]);
});

it("A request that is refused in every form fails with the error of the first", async () => {
  const refuse = (number: number) => ({ status: 400, body: { error: { message: `Refused ${number}.` } } });
  strict.failNext(refuse(1), refuse(2), refuse(3), refuse(4), refuse(5));
  const graph = createAgentGraph({ model: await clientOf("openai", strict) });
  const history = { messages: [new HumanMessage("x"), new AIMessage("y"), new HumanMessage("z")] };
  const error = await failureOf(graph.invoke(history));
  expect(error).toMatchObject({ code: "MODEL_FAILED", status: 400, brokenRule: undefined });
  expect((error as ModelError).message).toBe("The provider refused the request with status 400: Refused 1.");
  expect(strict.statuses).toEqual([400, 400]);
});

const call = (id: string) =>
  new AIMessage({
    content: "",
    tool_calls: [{ id, name: "look", args: {}, type: "tool_call" }],
    // DeepSeek checks this first.
    additional_kwargs: { reasoning_content: "" },
  });

/** Each history breaks a rule of every provider. */
const BROKEN: readonly (readonly [rule: string, messages: BaseMessage[], index: number])[] = [
  ["missing-result", [new HumanMessage("x"), call("abcdefgh1"), new HumanMessage("y")], 1],
  [
    "orphan-result",
    [new HumanMessage("x"), new ToolMessage({ content: "z", tool_call_id: "abcdefgh1", name: "look" })],
    1,
  ],
];

it("A request that is too long is not explained by a rule of another provider", async () => {
  const model = await clientOf("anthropic", strict);
  const messages = [
    new HumanMessage("x"),
    call("toolu_1"),
    new ToolMessage({ content: "z", tool_call_id: "toolu_1", name: "look" }),
  ];
  const error = {
    type: "invalid_request_error",
    message: "prompt is too long: 208310 tokens > 200000 maximum",
  };
  strict.failNext({ status: 400, body: { type: "error", error } });
  const raw = await failureOf(model.invoke(messages));
  expect(toModelError(raw, { model, messages })).toMatchObject({
    status: 400,
    brokenRule: undefined,
    message: expect.not.stringContaining("breaks the rule"),
  });
});

describe("A refusal in other words than those of a rule names no rule, whatever rules the history breaks", () => {
  const picture = { type: "image", mimeType: "image/svg+xml", data: "PHN2Zy8+" };
  const messages = [
    new HumanMessage({ content: [picture] }),
    new HumanMessage("x"),
    call("any id"),
    new HumanMessage("y"),
  ];
  it.each([
    [
      "openai",
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    ],
    ["openai-responses", "The image data you provided does not represent a valid image."],
    ["anthropic", "messages.0.content.0.image.source.base64: Could not process image"],
    ["anthropic", "A maximum of 4 blocks with cache_control may be provided. Found 5."],
    ["gemini", "Request payload size exceeds the limit: 20971520 bytes."],
    ["mistral", "Prompt cache key is not valid."],
    ["dashscope-native", "The image length and width do not meet the model restrictions."],
    ["deepseek", "Model Not Exist"],
  ] as const)("%s: %s", async (provider, message) => {
    const model = await clientOf(provider, strict);
    expect(DIALECT_NAMES.flatMap((name) => validateHistory(messages, name)).length).toBeGreaterThan(3);
    const refused = Object.assign(new Error(`400 ${message}`), { status: 400 });
    const error = toModelError(refused, { model, messages });
    expect(error).toMatchObject({ status: 400, brokenRule: undefined });
    expect(String(error)).toBe(`ModelError: The provider refused the request with status 400: ${message}`);
  });

  it("and the words of a host of open models name theirs", async () => {
    const model = await clientOf("openai", strict);
    const text =
      "400 After the optional system message, conversation roles must alternate user/assistant/user/assistant/...";
    const refused = Object.assign(new Error(text), { status: 400 });
    expect(toModelError(refused, { model, messages })).toMatchObject({
      brokenRule: { rule: "alternation", index: 1 },
    });
  });
});

describe.each(PROVIDERS)("the refusal of %s", (provider) => {
  // Mistral's client itself leaves out a call without a result.
  const broken = BROKEN.filter(([rule]) => provider !== "mistral" || rule !== "missing-result");
  it.each(broken)("names the rule %s, its own dialect and the place", async (rule, messages, index) => {
    const model = await clientOf(provider, strict);
    strict.failNext();
    const raw = await failureOf(model.invoke(messages));
    const error = toModelError(raw, { model, messages });
    expect(strict.statuses).toEqual([400]);
    // The test server is not OpenAI's host.
    const dialect = provider === "openai" ? "openai-compatible" : provider;
    // DashScope's native client hides the status.
    expect(error).toMatchObject({
      status: provider === "dashscope-native" ? undefined : 400,
      brokenRule: { rule, index, dialect },
    });
    expect(String(error)).toContain(`\`messages[${index}]\` breaks the rule \`${rule}\``);
  });

  it("for another reason reaches the caller of a run briefly, with its status and the provider's text", async () => {
    const graph = createAgentGraph({ model: await clientOf(provider, strict) });
    const words = `The model is not there. ${"Really. ".repeat(200)}`;
    const body = { code: "ModelNotFound", message: words, error: { message: words } };
    strict.failNext({ status: 404, body });
    const error = (await failureOf(graph.invoke(user("Are you there?")))) as ModelError;
    expect(error).toMatchObject({ status: 404, brokenRule: undefined });
    expect(error.message).toContain("The model is not there. Really. Really.");
    expect(error.message.length).toBeLessThan(600);
  });
});

// A failing model reveals no key: not in errors, events and streams, and not in traces, output and checkpoints.

/** A key that does not look like any provider's, so only the model itself can know it. */
const KEY = "Recognisable0Key1Of2The3Test";

const MODELS: readonly (readonly [string, (url: string) => BaseChatModel | Promise<BaseChatModel>])[] = [
  ...(["openai", "dashscope-native", "anthropic", "mistral"] as const).map(
    (provider) => [provider, (url: string) => clientAt(provider, url, KEY)] as const,
  ),
  [
    "ChatDeepSeek",
    (url) =>
      new ChatDeepSeek({
        model: "deepseek-chat",
        apiKey: KEY,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1` },
      }),
  ],
  ...MADE_MODELS.filter(({ name }) => /^(openai|tongyi):/.test(name)).map(
    (made) => [made.name, (url: string) => makeModelAt(made, url, KEY)] as const,
  ),
];

const FAILURES = [400, 401, 429, 500, "a broken body", "a refused connection"] as const;
type Failure = (typeof FAILURES)[number];

let failure: Failure = 400;

/** Repeats the received key wherever it can. */
const echo = createServer((request, response) => {
  request.resume();
  const headers = { "content-type": "application/json", "x-authorization": KEY };
  if (typeof failure !== "number") {
    response.writeHead(200, headers).end(`{"id": "x", "key": "${KEY}`);
    return;
  }
  const message = `Incorrect API key provided: ${KEY}.`;
  const body = { code: KEY, message, error: { message, code: KEY, param: KEY, type: KEY } };
  response.writeHead(failure, headers).end(JSON.stringify(body));
});

const { url } = stopAtEnd(await listen(echo));
const closed = await listen(createServer());

await closed.stop();

/** All values inside a value, including hidden fields, causes and symbols. */
function everythingIn(value: unknown): string {
  const options = { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true };
  return inspect(value, { ...options, maxStringLength: null, maxArrayLength: null });
}

const HANDLERS = "ChainError LLMError ChatModelStart LLMNewToken ChainEnd".split(" ");

/** All that can be seen of a failed run, except the model before the run. */
async function runOnce(model: BaseChatModel) {
  const output: unknown[] = [];
  const traces: unknown[] = [];
  const spies = (["log", "info", "warn", "error", "debug"] as const).map((method) =>
    vi.spyOn(console, method).mockImplementation((...values) => void output.push(values)),
  );
  const record = (...values: unknown[]) => void traces.push(values);
  const handlers = Object.fromEntries(HANDLERS.map((name) => [`handle${name}`, record]));
  const recorder = { ...handlers, awaitHandlers: true } as object as CallbackHandlerMethods;
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model, checkpointer });
  const configurable = { thread_id: "1" };
  const streamMode = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"] as const;
  const events: unknown[] = [];
  const collect = async (stream: Promise<AsyncIterable<unknown>>) => {
    for await (const event of await stream) events.push(event);
  };
  const ways = [
    () => graph.stream(user("hello"), { configurable, callbacks: [recorder], streamMode: [...streamMode] }),
    async () => graph.streamEvents(user("hello"), { version: "v2", configurable }),
  ];
  const errors: unknown[] = [];
  for (const start of ways) errors.push(await failureOf(collect(start())));
  const checkpoints = await allOf(checkpointer.list({ configurable }));
  for (const spy of spies) spy.mockRestore();
  return { errors, events, traces, output, checkpoints };
}

describe.each(MODELS)("the key of %s", (_name, make) => {
  it.each(FAILURES)("is not revealed after %s", async (wanted) => {
    hastenRetries();
    failure = wanted;
    const outcome = await runOnce(await make(wanted === "a refused connection" ? closed.url : url));
    expect(outcome.errors).toEqual([expect.any(ModelError), expect.any(ModelError)]);
    for (const [place, value] of Object.entries(outcome))
      expect(everythingIn(value), place).not.toContain(KEY);
    expect(outcome.traces.length).toBeGreaterThan(2);
    expect(outcome.checkpoints.length).toBeGreaterThan(0);
  });
});

it("The clients' own errors contain the key.", async () => {
  failure = 401;
  const error = await failureOf((await clientAt("openai", url, KEY)).invoke("hello"));
  expect(everythingIn(error)).toContain(KEY);
});

// Secrets that the user adds to a client's requests do not appear in its errors, even if a server repeats a request.

/** Short secrets that do not look like keys. */
const SECRETS = {
  custom: "Custom-7-value",
  proxy: "pr0xy",
  session: "s3ss1on",
  signature: "s/i+g=1",
  key: "k3y7",
} as const;

const ADDED = {
  defaultHeaders: {
    "X-Custom": SECRETS.custom,
    "x-proxy-auth": SECRETS.proxy,
    Cookie: `theme=dark; sid=${SECRETS.session}`,
  },
  defaultQuery: { sig: SECRETS.signature },
};

const CLIENTS: readonly (readonly [name: string, make: (url: string) => BaseChatModel])[] = [
  [
    "ChatOpenAI",
    (url) => openAIAt(url, { apiKey: SECRETS.key, configuration: { baseURL: `${url}/v1`, ...ADDED } }),
  ],
  ["ChatAnthropic", (url) => anthropicAt(url, { apiKey: SECRETS.key, clientOptions: ADDED })],
];

/** Repeats only the secrets of the request, because a long text would be cut. */
const mirror = createServer((request, response) => {
  request.resume();
  const { cookie = "", authorization, ...headers } = request.headers;
  const { searchParams } = new URL(request.url ?? "/", "http://mirror");
  const sent = [cookie, cookie.split("sid=")[1], headers["x-custom"], headers["x-proxy-auth"], request.url];
  const message = ["Refused:", ...sent, searchParams.get("sig"), headers["x-api-key"], authorization].join(
    " ",
  );
  response.writeHead(401, { "content-type": "application/json" });
  response.end(JSON.stringify({ message, error: { message, type: "refused" } }));
});

const { url: mirrorUrl } = stopAtEnd(await listen(mirror));

it.each(CLIENTS)("%s does not reveal secrets that were added to its requests", async (_name, make) => {
  const own = await failureOf(make(mirrorUrl).invoke("hello"));
  const ours = await failureOf(createAgentGraph({ model: make(mirrorUrl) }).invoke(user("hello")));
  expect(ours).toBeInstanceOf(ModelError);
  for (const [name, secret] of Object.entries(SECRETS)) {
    // Without this check, the server could have repeated nothing.
    expect(everythingIn(own), name).toContain(secret);
    expect(everythingIn(ours), name).not.toContain(secret);
    expect(everythingIn(ours), name).not.toContain(encodeURIComponent(secret));
  }
});
