/** DeepSeek's thinking over several rounds of calls, through the graph, at hosts that demand its reasoning and at one that refuses it. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import {
  answerTo,
  chainWish,
  createLook,
  playChain,
  playThinkingChain,
  type Rounds,
  reasoningOfRound,
} from "../support/chain-script.js";
import { openThread } from "../support/open-thread.js";
import {
  type HostName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";

const FIRST: Rounds = [["Oslo", "Rome"], ["Bergen"]];
const SECOND: Rounds = [["Turin"]];

let strict: StrictProvider;
let served = 0;
beforeAll(async () => {
  strict = await startStrictProvider(({ messages }) => {
    const thinks = strict.requests.at(-1)?.host === "deepseek";
    return thinks ? playThinkingChain(messages) : playChain(messages);
  });
});
beforeEach(() => {
  served = strict.requests.length;
});
afterAll(() => strict.stop());

/** A host whose dialect is not known, behind OpenAI's client. */
const openAI = (host: HostName, model: string, fields = {}) =>
  new ChatOpenAI({ model, apiKey: "x", configuration: { baseURL: `${strict.url(host)}/v1` }, ...fields });
const deepSeek = () =>
  new ChatDeepSeek({
    model: "deepseek-chat",
    apiKey: "x",
    configuration: { baseURL: `${strict.url("deepseek")}/v1` },
  });

function createThread(model: BaseChatModel, saver = new MemorySaver()) {
  const tools = [createLook().look];
  return openThread(createAgentGraph({ model, tools, checkpointer: saver, maxTokensBeforeSummary: 0 }));
}

interface WireMessage {
  readonly role: string;
  readonly content: unknown;
  readonly reasoning_content?: string;
}

/** What the assistant's messages of the latest request carry; undefined where the field is not there. */
function sentReasoning(): (string | undefined)[] {
  const { messages } = strict.lastRequest() as { messages: WireMessage[] };
  const own = messages.filter(({ role }) => role === "assistant");
  // The blocks in which it travels do not reach the host.
  for (const { content } of own) expect(typeof content).toBe("string");
  return own.map(({ reasoning_content }) => reasoning_content);
}

const refused = () => strict.requests.slice(served).filter(({ refusal }) => refusal !== undefined);

/** A turn that another model wrote. */
const foreign: readonly BaseMessage[] = [
  new HumanMessage("hello"),
  new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "look", args: {} }] }),
  new ToolMessage({ content: "clear", tool_call_id: "call_1" }),
  new AIMessage({ content: "Clear.", response_metadata: { model_provider: "openai", model_name: "gpt-5" } }),
];

describe.each([
  ["a user's own `ChatDeepSeek`", () => deepSeek()],
  ["`ChatOpenAI` at a proxy, by the model's name", () => openAI("deepseek", "deepseek/deepseek-v4-flash")],
  [
    "`ChatOpenAI` at a proxy, with `streaming: true`",
    () => openAI("deepseek", "kimi-k2", { streaming: true }),
  ],
])("%s", (_, model) => {
  it("passes the reasoning of every round back, over two turns", async () => {
    const thread = createThread(model());
    for (const rounds of [FIRST, SECOND]) {
      const { error } = await thread.send(chainWish(rounds));
      expect(error).toBeUndefined();
      expect((await thread.read()).at(-1)?.text).toBe(answerTo(rounds));
    }
    const [one = [], two = []] = FIRST;
    expect(sentReasoning()).toEqual([
      reasoningOfRound(one),
      reasoningOfRound(two),
      "",
      reasoningOfRound(SECOND[0] ?? []),
    ]);
    expect(refused()).toEqual([]);
  });

  it("goes on where another model was", async () => {
    const thread = createThread(model());
    await thread.graph.updateState({ configurable: { thread_id: "1" } }, { messages: [...foreign] });
    expect((await thread.send(chainWish(SECOND))).error).toBeUndefined();
    expect(sentReasoning()).toEqual(["", "", reasoningOfRound(SECOND[0] ?? [])]);
    expect(refused()).toEqual([]);
  });
});

describe("An unknown host", () => {
  it("is sent reasoning as soon as its model wrote some, whatever it is called", async () => {
    const thread = createThread(openAI("deepseek", "house-model"));
    const { error } = await thread.send(chainWish(FIRST));
    expect(error).toBeUndefined();
    expect(sentReasoning()).toEqual(FIRST.map(reasoningOfRound));
    expect(refused()).toEqual([]);
  });

  it("is not sent the field otherwise: not after a thinking model, and not for one that learned from it", async () => {
    for (const name of ["llama-3.3-70b-versatile", "deepseek-r1-distill-llama-70b"]) {
      const saver = new MemorySaver();
      expect((await createThread(deepSeek(), saver).send(chainWish(FIRST))).error).toBeUndefined();
      const { error } = await createThread(openAI("groq", name), saver).send(chainWish(SECOND));
      expect(error).toBeUndefined();
      expect(sentReasoning()).toEqual(Array(4).fill(undefined));
    }
    expect(refused()).toEqual([]);
  });
});

it("The strict provider has teeth: without the field it refuses, and the other host refuses the field.", async () => {
  const model = openAI("deepseek", "deepseek-chat");
  await expect(model.invoke([...foreign, new HumanMessage("go on")])).rejects.toThrow("passed back");
  await expect(
    createThread(openAI("groq", "deepseek-chat"))
      .send(chainWish(FIRST))
      .then(({ error }) => Promise.reject(error)),
  ).rejects.toThrow("property 'reasoning_content' is unsupported");
});
