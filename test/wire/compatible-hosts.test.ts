/**
 * Hosts with OpenAI's protocol that are not OpenAI, through `ChatOpenAI` over HTTP: a sound history is sent as it is
 * stored, and only a host that has refused it gets the strict form.
 */

import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import type { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createAgentGraph, createModel, type DialectName } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLook } from "../support/chain-script.js";
import { openAIAt } from "../support/clients.js";
import { listen } from "../support/listen.js";
import {
  ANSWER,
  type HostName,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";

let served = 0;
const strict = stopAtEnd(await startStrictProvider());

beforeEach(() => {
  strict.failNext();
  served = strict.requests.length;
});

const modelAt = (host: HostName, model: string) => openAIAt(`${strict.url(host)}/v1`, { model });
const tools = [createLook().look];

interface Options {
  readonly dialect?: DialectName;
}

type Agent = (messages: BaseMessage[], thread?: string) => AsyncGenerator<unknown>;

/** A run is in a thread of its own unless one is named. */
function eventsIn(agent: {
  stream: (input: never, config: never) => Promise<AsyncIterable<unknown>>;
}): Agent {
  let threads = 0;
  return async function* (messages, thread) {
    threads += 1;
    const thread_id = thread ?? `own-${threads}`;
    const config = { configurable: { thread_id }, streamMode: "custom" };
    yield* await agent.stream({ messages } as never, config as never);
  };
}

/** Both ways to an agent, whose runs yield their events. */
const AGENTS: readonly (readonly [name: string, open: (model: ChatOpenAI, options?: Options) => Agent])[] = [
  [
    "createAgentGraph",
    (model, options) =>
      eventsIn(createAgentGraph({ model, tools, checkpointer: new MemorySaver(), ...options })),
  ],
  [
    "tetherMiddleware",
    (model, options) => {
      const middleware = [tetherMiddleware(options)];
      return eventsIn(createAgent({ model, tools, middleware, checkpointer: new MemorySaver() }));
    },
  ],
];

/** Ids of any form, messages of one role in a row, and a message of the user after a result. */
const history = (id = "functions.look:0"): BaseMessage[] => [
  new HumanMessage("How is the sky over Oslo?"),
  new AIMessage({ content: "", tool_calls: [{ id, name: "look", args: { city: "Oslo" } }] }),
  new ToolMessage({ content: "clear", tool_call_id: id, name: "look" }),
  new HumanMessage("Stop."),
  new HumanMessage("And over Rome?"),
];

async function eventsOf(run: AsyncGenerator<unknown>): Promise<unknown[]> {
  const types: unknown[] = [];
  for await (const event of run) types.push(Reflect.get(Object(event), "type"));
  return types.filter((type) => type !== "run-end");
}

const requests = () => strict.requests.slice(served);
const refused = () => requests().map(({ refusal }) => refusal !== undefined);
const sent = () => Reflect.get(Object(strict.lastRequest()), "messages") as { role: string }[];
const sentRoles = () => sent().map(({ role }) => role);

/** The messages as the client sends them without this library. */
async function sentByTheClient(model: ChatOpenAI, messages: BaseMessage[]): Promise<unknown> {
  for await (const _ of await model.stream(messages));
  served = strict.requests.length;
  return sent();
}

describe.each(AGENTS)("with %s", (_name, open) => {
  it.each(["meta-llama/llama-3.3-70b-instruct", "qwen/qwen3-max", "openai/gpt-4o", "my-model"])(
    "a host that nobody knows gets a sound history as it is stored, for %s",
    async (name) => {
      const model = modelAt("openai", name);
      const stored = history(name.startsWith("openai/") ? "call_1" : undefined);
      const plain = await sentByTheClient(model, stored);
      expect(await eventsOf(open(model)(stored))).toEqual([]);
      expect(sent()).toEqual(plain);
      expect(refused()).toEqual([false]);
    },
  );

  it.each<readonly [title: string, host: HostName, id: string | undefined]>([
    ["in OpenAI's form", "vllm", undefined],
    ["in a form that OpenAI's client drops", "mistral", undefined],
    ["in a sentence that goes on", "openai", `call_${"x".repeat(60)}`],
  ])("a host that refuses it by a rule, %s, gets the strict form in this thread", async (_, host, id) => {
    const ask = open(modelAt(host, "my-model"));
    expect(await eventsOf(ask(history(id), "1"))).toEqual(["input-reduced"]);
    expect(refused()).toEqual([true, false]);
    expect(sentRoles()).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(await eventsOf(ask([new HumanMessage("And then?")], "1"))).toEqual([]);
    expect(refused()).toEqual([true, false, false]);
    // Another thread is asked as it is stored.
    expect(await eventsOf(ask(history(id), "2"))).toEqual(["input-reduced"]);
    expect(refused()).toEqual([true, false, false, true, false]);
  });

  it.each([
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
    "After the (optional) system message(s), user and assistant roles should be alternating.",
    "Tool call IDs should be alphanumeric strings with length 9!",
  ])("a server of open models that says %j gets the strict form", async (message) => {
    strict.failNext({ status: 400, body: { error: { message } } });
    expect(await eventsOf(open(modelAt("mistral", "my-model"))(history()))).toEqual(["input-reduced"]);
    expect(refused()).toEqual([false]);
    expect(strict.statuses).toEqual([400, 200]);
  });

  it("a refusal for another reason is not asked again", async () => {
    strict.failNext({ status: 400, body: { error: { message: "Unknown model." } } });
    await expect(eventsOf(open(modelAt("openai", "my-model"))(history()))).rejects.toThrow("Unknown model.");
    expect(strict.statuses).toEqual([400]);
  });

  it("a gateway gets the form of the provider that the model's name tells", async () => {
    const ask = open(modelAt("mistral", "mistralai/mistral-large"));
    expect(await eventsOf(ask(history()))).toEqual([]);
    expect(refused()).toEqual([false]);
  });

  it.each(["anthropic/claude-sonnet-4.5", "deepseek/deepseek-chat"])(
    "a gateway for %s gets ids and messages as they are stored",
    async (name) => {
      const stored = history("call_abc123");
      await eventsOf(open(modelAt("openai", name))(stored));
      expect(sentRoles()).toEqual(["user", "assistant", "tool", "user", "user"]);
      expect(JSON.stringify(sent())).toContain('"tool_call_id":"call_abc123"');
    },
  );

  it("a dialect that the user names is kept, until the host refuses it", async () => {
    const named = open(modelAt("mistral", "my-model"), { dialect: "mistral-openai" });
    expect(await eventsOf(named(history()))).toEqual([]);
    expect(refused()).toEqual([false]);
    const wrong = open(modelAt("mistral", "mistral-small"), { dialect: "openai" });
    expect(await eventsOf(wrong(history("call_1")))).toEqual(["input-reduced"]);
    expect(refused()).toEqual([false, true, false]);
  });
});

it("A fallback model keeps its own dialect", async () => {
  strict.failNext({ status: 500 });
  const fallback = modelAt("mistral", "mistral-small");
  const model = modelAt("openai", "my-model");
  const graph = createAgentGraph({ model, dialect: "openai", tools, fallbackModels: [fallback] });
  const { messages } = await graph.invoke({ messages: history() });
  expect(messages.at(-1)?.text).toBe(ANSWER);
  expect(strict.statuses).toEqual([500, 200]);
});

it("A character that the network splits arrives intact, over DashScope's native protocol", async () => {
  const data = {
    request_id: "r",
    output: { choices: [{ finish_reason: "stop", message: { content: "天气" } }] },
  };
  const bytes = Buffer.from(`data:${JSON.stringify(data)}\n\n`);
  const middle = bytes.indexOf("天") + 1;
  const server = createServer(async (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(bytes.subarray(0, middle));
    await delay(20);
    response.end(bytes.subarray(middle));
  });
  const { url, stop } = await listen(server);
  onTestFinished(stop);
  const environment = { ALIBABA_API_KEY: "test-key", DASHSCOPE_API_URL: `${url}/generation` };
  const model = await createModel("tongyi:qwen-max", { environment });
  let text = "";
  for await (const chunk of await model.stream("x")) text += chunk.text;
  expect(text).toBe("天气");
});
