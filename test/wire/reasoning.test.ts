/**
 * DeepSeek's thinking over several rounds of tool calls, through the graph. Some hosts demand the reasoning, and one
 * rejects it.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogle } from "@langchain/google/node";
import { MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, createModel, toModelInput } from "../../src/index.js";
import {
  answerTo,
  CALL_TEXT,
  chainWish,
  createLook,
  lookedIn,
  playChain,
  playThinkingChain,
  type Rounds,
  reasoningOfRound,
} from "../support/chain-script.js";
import { clientOf, openAIAt, PROVIDERS, tongyiAt } from "../support/clients.js";
import { openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import { checkGemini } from "../support/strict-provider/check-gemini.js";
import type { RequestCheck } from "../support/strict-provider/refusal.js";
import { gemini, serve } from "../support/strict-provider/serve-responses.js";
import {
  type HostName,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";

const FIRST: Rounds = [["Oslo", "Rome"], ["Bergen"]];
const SECOND: Rounds = [["Turin"]];
let served = 0;

const strict: StrictProvider = stopAtEnd(
  await startStrictProvider(({ messages }) => {
    const thinks = strict.requests.at(-1)?.host === "deepseek";
    return thinks ? playThinkingChain(messages) : playChain(messages);
  }),
);

beforeEach(() => {
  served = strict.requests.length;
});

/** A host with an unknown dialect, used through OpenAI's client. */
const openAI = (host: HostName, model: string, fields = {}) =>
  openAIAt(`${strict.url(host)}/v1`, { model, ...fields });

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

/** The reasoning of each assistant message in the latest request. Undefined where the field is missing. */
function sentReasoning(): (string | undefined)[] {
  const { messages } = strict.lastRequest() as { messages: WireMessage[] };
  const own = messages.filter(({ role }) => role === "assistant");
  // The blocks that carry the reasoning do not reach the host.
  for (const { content } of own) expect(typeof content).toBe("string");
  return own.map(({ reasoning_content }) => reasoning_content);
}

const refused = () => strict.requests.slice(served).filter(({ refusal }) => refusal !== undefined);

/** A turn written by another model. */
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
  it("sends the reasoning of every round back, over two turns", async () => {
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

  it("continues a thread of another model", async () => {
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

  it("does not get the field otherwise: not after a thinking model, and not for a distilled model", async () => {
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

it("The test hosts are strict: one rejects requests without the field, the other rejects the field.", async () => {
  const model = openAI("deepseek", "deepseek-chat");
  await expect(model.invoke([...foreign, new HumanMessage("go on")])).rejects.toThrow("passed back");
  await expect(
    createThread(openAI("groq", "deepseek-chat"))
      .send(chainWish(FIRST))
      .then(({ error }) => Promise.reject(error)),
  ).rejects.toThrow("property 'reasoning_content' is unsupported");
});

// Complete conversations over HTTP: two turns with several rounds of tool calls, streamed, through the graph and the
// real clients, to providers that reject an invalid history.

const FIRST_TURN: Rounds = [["Oslo", "Rome"], ["Bergen"]];
const SECOND_TURN: Rounds = [["Turin"], ["Oslo", "Milan", "Rome"], ["Naples"]];
const tongyiURL = () => strict.url("dashscope-native");

/** Of two providers, `createModel` makes another client than users have. */
const ROWS: readonly (readonly [provider: ProviderName, title: string, model: () => unknown])[] = [
  ...PROVIDERS.map((provider) => [provider, "its client", () => clientOf(provider, strict)] as const),
  ["deepseek", "a user's own client", deepSeek],
  [
    "dashscope-native",
    "`tongyi:` by name",
    () =>
      createModel("tongyi:qwen-max", {
        environment: { ALIBABA_API_KEY: "test-key", DASHSCOPE_API_URL: tongyiURL() },
      }),
  ],
];

describe.each(ROWS)("%s, with %s", (provider, _title, model) => {
  it("completes two turns of parallel and repeated calls without a rejected request", async () => {
    const { look, looked } = createLook();
    const graph = createAgentGraph({
      model: (await model()) as BaseChatModel,
      tools: [look],
      checkpointer: new MemorySaver(),
      maxTokensBeforeSummary: 0,
    });
    const thread = openThread(graph);
    let known = 0;
    for (const rounds of [FIRST_TURN, SECOND_TURN]) {
      const { messages, events, error } = await thread.send(chainWish(rounds));
      expect(error).toBeUndefined();
      const state = await thread.read();
      const turn = state.slice(known);
      known = state.length;
      expect(turn.at(-1)?.text).toBe(answerTo(rounds));
      expect(shown(messages)).toEqual(shown(turn));
      expect(lookedIn(turn)).toEqual({ calls: rounds.flat(), results: rounds.flat() });
      expect(turn.filter(({ text }) => text === CALL_TEXT)).toHaveLength(rounds.length);
      expect(events).toMatchObject([{ type: "run-end", usedFallback: false }]);
    }
    const requests = strict.requests.slice(served);
    expect(requests.map(({ host, streams, refusal }) => ({ host, streams, refusal }))).toEqual(
      Array(FIRST_TURN.length + SECOND_TURN.length + 2).fill({
        host: provider,
        streams: true,
        refusal: undefined,
      }),
    );
    expect(looked.sort()).toEqual([...FIRST_TURN, ...SECOND_TURN].flat().sort());
  });
});

it("The client gets a call's arguments in pieces, and the tool gets them complete.", async () => {
  const { look, looked } = createLook();
  const model = tongyiAt(tongyiURL());
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver() });
  const { parts } = await openThread(graph).send(chainWish([["Ouagadougou", "Antananarivo"]]));
  const pieces = parts.flatMap((part) => (part as AIMessageChunk).tool_call_chunks ?? []);
  for (const [index, city] of looked.entries()) {
    const own = pieces.filter((piece) => piece.index === index).map(({ args }) => args);
    expect(own.length).toBeGreaterThan(3);
    expect(own.join("")).toBe(JSON.stringify({ city }));
  }
  expect(looked).toEqual(["Ouagadougou", "Antananarivo"]);
  const parameters = { incremental_output: true, result_format: "message" };
  expect(strict.lastRequest()).toMatchObject({ parameters });
});

// Thought signatures through `ChatGoogle`, over HTTP. Gemini 3 refuses a turn whose first call has none. The client sends
// the calls of a message from its content only, and stores their signatures in several forms.

const OWN = "c2ln";
const SENTINEL = "skip_thought_signature_validator";

const MISSING =
  "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.";

interface Part {
  readonly text?: string;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly name: string; readonly args: object };
}

const callOf = (city: string, signature?: string): Part => ({
  functionCall: { name: "weather", args: { city } },
  ...(signature !== undefined && { thoughtSignature: signature }),
});

/** Gemini 3, which gives these responses in turn. */
async function startGemini(...responses: (readonly Part[])[]) {
  const check: RequestCheck = (body, stored) => {
    const calls = contentsOf(body).map(({ parts }) => parts.find(({ functionCall }) => functionCall));
    const isUnsigned = calls.some((part) => part !== undefined && part.thoughtSignature === undefined);
    const unsigned = { status: 400, body: { error: { code: 400, message: MISSING } } };
    return checkGemini(body, stored) ?? (isUnsigned ? unsigned : undefined);
  };
  const { url, requests } = await serve(
    check,
    responses.map((parts) => gemini(parts)),
  );
  const clientFor = (options: object = {}) =>
    new ChatGoogle({ model: "gemini-3-pro-preview", apiKey: "x", maxRetries: 0, endpoint: url, ...options });
  return { requests, clientFor };
}

const contentsOf = (body: unknown): readonly { readonly parts: readonly Part[] }[] => Object(body).contents;
const partsOf = (request: { readonly body: unknown } | undefined) =>
  contentsOf(request?.body).flatMap(({ parts }) => parts);

const weather = tool(({ city }) => `18 °C in ${city}`, {
  name: "weather",
  schema: z.object({ city: z.string() }),
});

/** The place of each call, and its signature. */
const signaturesIn = (parts: readonly Part[]) =>
  parts.flatMap(({ functionCall, thoughtSignature }) =>
    functionCall === undefined ? [] : [[Object.values(functionCall.args)[0], thoughtSignature]],
  );

describe.each([
  ["in Google's form", {}],
  ["in the `v1` form", { outputVersion: "v1" }],
])("Signatures %s", (_, options) => {
  it.each([
    ["two calls, of which the first is signed", [callOf("Oslo", OWN), callOf("Rome")]],
    [
      "a thought, a text and a call",
      [{ text: "hm", thought: true }, { text: "I look." }, callOf("Oslo", OWN)],
    ],
    ["one call", [callOf("Oslo", OWN)]],
  ])("are sent back with %s.", async (_title, parts) => {
    const { requests, clientFor } = await startGemini(
      parts,
      [{ text: "Warm.", thoughtSignature: "ZW5k" }],
      [{ text: "Bye." }],
    );
    const model = clientFor(options);
    const graph = createAgentGraph({ model, tools: [weather], checkpointer: new MemorySaver() });
    await graph.invoke(user("The weather?"), inThread("1"));
    const messages = pairedMessagesOf(await graph.invoke(user("Thanks."), inThread("1")));
    expect(messages.at(-1)?.text).toBe("Bye.");
    for (const request of requests.slice(1, 3))
      expect(signaturesIn(partsOf(request))).toEqual(signaturesIn(parts));
    expect(partsOf(requests[2])).toContainEqual({ text: "Warm.", thoughtSignature: "ZW5k" });
  });

  it("and thoughts are not sent to another provider.", async () => {
    const parts = [{ text: "secret thought", thought: true }, callOf("Oslo", OWN)];
    const { clientFor } = await startGemini(parts, [{ text: "Warm.", thoughtSignature: "ZW5k" }]);
    const graph = createAgentGraph({ model: clientFor(options), tools: [weather] });
    const { messages } = await graph.invoke(user("The weather?"));
    for (const dialect of ["openai", "openai-responses", "anthropic", "strict"] as const) {
      const input = JSON.stringify(toModelInput(messages, { dialect }));
      expect(input).toContain("Oslo");
      expect(input).not.toMatch(/secret thought|c2ln|ZW5k/);
    }
  });
});

it("A call of another model gets the documented sentinel, and other models of Gemini none.", async () => {
  const history = [
    new HumanMessage("The weather?"),
    new AIMessage({
      content: "I look.",
      tool_calls: [
        { id: "call_1", name: "weather", args: { city: "Oslo" } },
        { id: "call_2", name: "weather", args: { city: "Rome" } },
      ],
      response_metadata: { model_provider: "openai", model_name: "gpt-5" },
    }),
    new ToolMessage({ content: "18 °C", tool_call_id: "call_1" }),
    new ToolMessage({ content: "25 °C", tool_call_id: "call_2" }),
  ];
  const { requests, clientFor } = await startGemini([{ text: "Warm." }]);
  await createAgentGraph({ model: clientFor(), tools: [weather] }).invoke({ messages: history });
  expect(signaturesIn(partsOf(requests[0]))).toEqual([
    ["Oslo", SENTINEL],
    ["Rome", undefined],
  ]);
});
