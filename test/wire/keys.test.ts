/** A failing model reveals no key: not in errors, events and streams, and not in traces, output and checkpoints. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatAlibabaTongyi } from "@langchain/community/chat_models/alibaba_tongyi";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatDeepSeek } from "@langchain/deepseek";
import { MemorySaver } from "@langchain/langgraph";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { createModel } from "../../src/providers/models/create-model.js";
import { hastenRetries } from "../support/hasten-retries.js";
import { user } from "../support/thread.js";

/** A key that does not look like any provider's, so only the model itself can know it. */
const KEY = "Recognisable0Key1Of2The3Test";

const MODELS: Readonly<Record<string, (url: string, key: string) => BaseChatModel | Promise<BaseChatModel>>> =
  {
    ChatOpenAI: (url, apiKey) =>
      new ChatOpenAI({
        model: "gpt-5",
        apiKey,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1` },
      }),
    ChatDeepSeek: (url, apiKey) =>
      new ChatDeepSeek({
        model: "deepseek-chat",
        apiKey,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1` },
      }),
    ChatAlibabaTongyi: (url, alibabaApiKey) =>
      new ChatAlibabaTongyi({ model: "qwen-max", alibabaApiKey, maxRetries: 0, apiUrl: url }),
    ChatAnthropic: (url, apiKey) =>
      new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxRetries: 0, anthropicApiUrl: url }),
    ChatMistralAI: (url, apiKey) => new ChatMistralAI({ model: "m", apiKey, maxRetries: 0, serverURL: url }),
    "createModel of openai": (url, key) =>
      createModel("openai:gpt-5", { environment: { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1` } }),
    "createModel of tongyi": (url, key) =>
      createModel("tongyi:qwen-max", { environment: { ALIBABA_API_KEY: key, DASHSCOPE_API_URL: url } }),
  };

const FAILURES = [400, 401, 429, 500, "a broken body", "a refused connection"] as const;
type Failure = (typeof FAILURES)[number];

/** Repeats the received key wherever it can. */
function createEcho(failure: () => Failure): Server {
  return createServer((request, response) => {
    request.resume();
    const headers = { "content-type": "application/json", "x-authorization": KEY };
    const now = failure();
    if (typeof now !== "number") {
      response.writeHead(200, headers).end(`{"id": "x", "key": "${KEY}`);
      return;
    }
    const message = `Incorrect API key provided: ${KEY}.`;
    const body = { code: KEY, message, error: { message, code: KEY, param: KEY, type: KEY } };
    response.writeHead(now, headers).end(JSON.stringify(body));
  });
}

let failure: Failure = 400;
const echo = createEcho(() => failure);
let url = "";
let closedUrl = "";

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  url = urlOf(echo);
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  closedUrl = urlOf(closed);
  await new Promise((resolve) => closed.close(resolve));
});
afterAll(async () => {
  echo.closeAllConnections();
  await new Promise((resolve) => echo.close(resolve));
});

/** All values inside a value, including hidden fields, causes and symbols. */
function everythingIn(value: unknown): string {
  const options = { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true };
  return inspect(value, { ...options, maxStringLength: null, maxArrayLength: null });
}

/** Records what every handler of a run receives, except the model before the run. */
class Recorder extends BaseCallbackHandler {
  override name = "recorder";
  override awaitHandlers = true;
  readonly seen: unknown[] = [];
  override handleChainError(...values: unknown[]): void {
    this.seen.push(values);
  }
  override handleLLMError(...values: unknown[]): void {
    this.seen.push(values);
  }
  override handleChatModelStart(...values: unknown[]): void {
    this.seen.push(values);
  }
  override handleLLMNewToken(...values: unknown[]): void {
    this.seen.push(values);
  }
  override handleChainEnd(...values: unknown[]): void {
    this.seen.push(values);
  }
}

interface Outcome {
  readonly error: unknown;
  readonly events: readonly unknown[];
  readonly traces: readonly unknown[];
  readonly output: readonly unknown[];
  readonly checkpoints: readonly unknown[];
}

async function runOnce(model: BaseChatModel): Promise<Outcome> {
  const output: unknown[] = [];
  const methods = ["log", "info", "warn", "error", "debug"] as const;
  const spies = methods.map((method) =>
    vi.spyOn(console, method).mockImplementation((...values) => {
      output.push(values);
    }),
  );
  const recorder = new Recorder();
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model, checkpointer });
  const configurable = { thread_id: "1" };
  const events: unknown[] = [];
  const ways = [
    () =>
      graph.stream(user("hello"), {
        configurable,
        callbacks: [recorder],
        streamMode: ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"],
      }),
    async () => graph.streamEvents(user("hello"), { version: "v2", configurable }),
  ];
  const errors: unknown[] = [];
  for (const start of ways) {
    try {
      for await (const event of await start()) events.push(event);
    } catch (error) {
      errors.push(error);
    }
  }
  const checkpoints: unknown[] = [];
  for await (const checkpoint of checkpointer.list({ configurable })) checkpoints.push(checkpoint);
  for (const spy of spies) spy.mockRestore();
  expect(errors).toHaveLength(ways.length);
  return { error: errors[0], events, traces: recorder.seen, output, checkpoints };
}

describe.each(Object.entries(MODELS))("the key of %s", (_name, make) => {
  it.each(FAILURES)("is not revealed after %s", async (wanted) => {
    hastenRetries();
    failure = wanted;
    const model = await make(wanted === "a refused connection" ? closedUrl : url, KEY);
    const outcome = await runOnce(model);
    expect(outcome.error).toBeInstanceOf(ModelError);
    for (const [place, value] of Object.entries(outcome))
      expect(everythingIn(value), place).not.toContain(KEY);
    expect(outcome.traces.length).toBeGreaterThan(2);
    expect(outcome.checkpoints.length).toBeGreaterThan(0);
  });
});

it("The clients' own errors contain the key.", async () => {
  failure = 401;
  const model = await MODELS["ChatOpenAI"]?.(url, KEY);
  const error = await model?.invoke("hello").catch((reason: unknown) => reason);
  expect(everythingIn(error)).toContain(KEY);
});
