import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { END, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { initChatModel } from "langchain/chat_models/universal";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  cachedCreateModel,
  createAgentGraph,
  createModel,
  InvalidModelError,
  InvalidSettingError,
  PairedMessagesDeltaValue,
  PairedMessagesValue,
} from "../../../src/index.js";
import { OfflineChatModel } from "../../../src/offline/offline-chat-model.js";
import { type Answer, FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { type ModelServer, startModelServer } from "../../support/model-server.js";
import { openThread } from "../../support/open-thread.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type ScriptedModel, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

function createThread({ model }: { model: ScriptedModel }) {
  const graph = createAgentGraph({ model, tools: [createProbe().fast], checkpointer: new MemorySaver() });
  const read = async () => (await graph.getState(config)).values;
  const send = (...messages: BaseMessage[]) => graph.invoke({ messages }, config);
  return { graph, read, send };
}

describe("a model that", () => {
  it("fails reaches the caller with its own error, and the results of its turn stay", async () => {
    const model = scripted(calls(["fast", { label: "1" }]), new Error("503 overloaded"), "better");
    const { send } = createThread({ model });
    await expect(send(new HumanMessage("x"))).rejects.toThrow("503 overloaded");
    expect(pairedScript(await send(new HumanMessage("y")))).toEqual([
      "human: x",
      "ai> fast",
      "tool: fast done 1",
      "human: y",
      "ai: better",
    ]);
  });

  it("has nothing to respond to is not called", async () => {
    const { graph } = createThread({ model: scripted() });
    expect(await graph.invoke({ messages: [] }, config)).toEqual({ messages: [] });
    const said = { messages: [new HumanMessage("x"), new AIMessage("y")] };
    expect(pairedScript(await graph.invoke(said, config))).toEqual(["human: x", "ai: y"]);
  });
});

it("A `createModel` that makes something else is named in the error", async () => {
  const createModel = async () => 5 as never;
  const graph = createAgentGraph({ model: "offline:", createModel });
  await expect(graph.invoke({ messages: "hello" })).rejects.toThrow(
    "Expected `createModel` to be a function that resolves to a chat model, got `5`.",
  );
});

// A missing key is reported when the graph is built, if the graph's caller cannot supply it.

beforeEach(() => {
  for (const name of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]) vi.stubEnv(name, undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const NEEDS_KEY =
  "The model `openai:gpt-5` needs a key: set `OPENAI_API_KEY` in the environment. It also needs its package: npm install @langchain/openai";

describe("A graph is not built without the key of", () => {
  it.each([
    ["its model", { model: "openai:gpt-5" }],
    ["its summary model", { model: "offline:", summaryModel: "openai:gpt-5" }],
    ["its model that is shared", { model: "openai:gpt-5", createModel: cachedCreateModel() }],
    ["its model that our function makes", { model: "openai:gpt-5", createModel }],
  ])("%s", (_title, options) => {
    expect(() => createAgentGraph(options)).toThrow(InvalidModelError);
    expect(() => createAgentGraph(options)).toThrow(NEEDS_KEY);
  });
});

describe("A graph is built", () => {
  const own = (name: string) => createModel(name, { environment: { OPENAI_API_KEY: "sk-own" } });

  it.each([
    [
      "with a function of the caller's own, which may have the key",
      { model: "openai:gpt-5", createModel: own },
    ],
    ["with such a function that is shared", { model: "openai:gpt-5", createModel: cachedCreateModel(own) }],
    ["if only a run may choose the model", { model: "offline:", models: ["openai:gpt-5"] }],
    [
      "if the client finds its credentials",
      { model: "bedrock:nova", models: ["ollama:llama", "google-vertexai:gemini"] },
    ],
  ])("%s", (_title, options) => {
    createAgentGraph(options);
  });

  it("with the key", () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-of-the-test");
    createAgentGraph({ model: "openai:gpt-5" });
  });
});

// Fake models and nodes give one message object again and again. LangGraph's own tests count on what becomes of it.

const FIELDS = [
  ["PairedMessagesValue", PairedMessagesValue],
  ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
] as const;

describe("FakeListChatModel", () => {
  it("answers each turn of an agent graph", async () => {
    const model = new FakeListChatModel({ responses: ["one", "two"] });
    const graph = createAgentGraph({ model, checkpointer: new MemorySaver() });
    await graph.invoke(user("first"), config);
    const lines = pairedScript(await graph.invoke(user("second"), config));
    expect(lines).toEqual(["human: first", "ai: one", "human: second", "ai: two"]);
  });

  it.each(FIELDS)("answers each turn of LangGraph's agent with %s", async (_name, field) => {
    const agent = createReactAgent({
      llm: new FakeListChatModel({ responses: ["one", "two"] }),
      tools: [],
      stateSchema: new StateSchema({ messages: field as typeof PairedMessagesValue }) as never,
      checkpointer: new MemorySaver(),
    });
    // The types of LangGraph's agent know no schema of this kind.
    const send = (content: string) =>
      agent.invoke({ messages: [new HumanMessage(content)] } as never, config);
    await send("first");
    const lines = pairedScript(await send("second"));
    expect(lines).toEqual(["human: first", "ai: one", "human: second", "ai: two"]);
  });
});

describe("One message object", () => {
  it.each(FIELDS)("from two nodes of a graph is one message of %s", async (_name, field) => {
    const same = new AIMessage("the same");
    const graph = new StateGraph(new StateSchema({ messages: field as typeof PairedMessagesValue }))
      .addNode("one", () => ({ messages: [same] }))
      .addNode("two", () => ({ messages: [same] }))
      .addEdge(START, "one")
      .addEdge("one", "two")
      .addEdge("two", END)
      .compile({ checkpointer: new MemorySaver() });
    const result = await graph.invoke(user("hi"), config);
    expect(pairedScript(result)).toEqual(["human: hi", "ai: the same"]);
    expect(result.messages[1]?.id).toBe(same.id);
  });

  it("with a call from each request of a model is a new message of an agent graph, so its turn ends", async () => {
    const same = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "fast", args: {} }] });
    const model = new FunctionModel(({ index }) => (index < 3 ? same : "done"));
    const graph = createAgentGraph({ model, tools: [createProbe().fast], checkpointer: new MemorySaver() });
    const lines = pairedScript(await graph.invoke(user("hi"), config));
    expect(lines.filter((line) => line === "ai> fast")).toHaveLength(3);
    expect(lines.at(-1)).toBe("ai: done");
  });
});

it("Every message of the `updates` stream has the id that the state has", async () => {
  const model = new FunctionModel(({ index }) => (index === 0 ? calls(["fast"]) : "done"));
  const graph = createAgentGraph({ model, tools: [createProbe().fast], checkpointer: new MemorySaver() });
  const shown: unknown[] = [];
  for await (const update of await graph.stream(user("go"), { ...config, streamMode: "updates" }))
    for (const { messages = [] } of [update.model ?? {}, update.tools ?? {}])
      shown.push(...messages.map(({ id }) => id));
  const { messages = [] } = (await graph.getState(config)).values;
  expect(shown).toEqual(messages.slice(1).map(({ id }: { id?: string }) => id));
  expect(shown).toHaveLength(3);
});

// A model that refuses its own dialect by a rule of some provider gets the strict dialect, once.

/** It looks like an OpenAI client, whose dialect accepts two assistant messages in a row. */
class OpenAILike extends FunctionModel {
  override _llmType(): string {
    return "offline";
  }
}

const refusal = (status: number, text: string) => Object.assign(new Error(text), { status });

const ALTERNATE =
  "400 A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.";

/** Refuses two messages of one role in a row, as a host behind a compatible address may do. */
const alternating: Answer = ({ messages }) =>
  messages.some(({ type }, index) => type === "ai" && messages[index - 1]?.type === "ai")
    ? refusal(400, ALTERNATE)
    : "done";

const history = [
  new HumanMessage("one"),
  new AIMessage("two"),
  new AIMessage("three"),
  new HumanMessage("four"),
];

async function open(answer: Answer) {
  const model = new OpenAILike(answer);
  const graph = createAgentGraph({ model, checkpointer: new MemorySaver() });
  await graph.updateState({ configurable: { thread_id: "1" } }, { messages: history });
  return { model, thread: openThread(graph) };
}

describe("A history that the check found sound, and the provider refused", () => {
  it("is sent again in the strict dialect, with an event", async () => {
    const { model, thread } = await open(alternating);
    const { error, events } = await thread.send("five");
    expect(error).toBeUndefined();
    expect(model.requests).toHaveLength(2);
    expect(events).toContainEqual({
      type: "dialect-changed",
      from: "openai",
      to: "strict",
      reason: expect.stringContaining("must alternate"),
    });
  });

  it("is sent in the strict dialect at once in later turns", async () => {
    const { model, thread } = await open(alternating);
    await thread.send("five");
    const { events } = await thread.send("six");
    expect(model.requests).toHaveLength(3);
    expect(events.filter(({ type }) => type === "dialect-changed")).toEqual([]);
  });

  it("is sent once more only, if the provider refuses that too", async () => {
    const { model, thread } = await open(() => refusal(400, ALTERNATE));
    const { error } = await thread.send("five");
    expect(error).toMatchObject({ code: "MODEL_FAILED", status: 400 });
    expect(model.requests).toHaveLength(2);
  });

  it.each([
    ["a text that is no rule", refusal(400, "400 Unknown model.")],
    ["another status", refusal(403, ALTERNATE)],
  ])("is not sent again for %s", async (_title, error) => {
    const { model, thread } = await open(() => error);
    expect((await thread.send("five")).error).toMatchObject({ code: "MODEL_FAILED" });
    expect(model.requests).toHaveLength(1);
  });
});

// Models are passed without bound options: tools, fallbacks and response formats are set on the graph.

const openAI = new ChatOpenAI({ model: "gpt-5", apiKey: "sk-secret-of-the-test" });
const anthropic = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "sk-secret-of-the-test" });

const configurable = await initChatModel("gpt-5", {
  modelProvider: "openai",
  apiKey: "sk-secret-of-the-test",
});

const offline = new OfflineChatModel();

const tools = [
  { type: "function", function: { name: "sky", parameters: { type: "object", properties: {} } } },
];

const form = { title: "answer", type: "object", properties: { text: { type: "string" } } };

/** As JavaScript hands it over: the compiler refuses it. */
const asModel = (model: unknown) => model as BaseChatModel;
const STRUCTURED = ["a sequence, as `withStructuredOutput` makes it", "Pass the model itself."] as const;
const BOUND_TOOLS = ["a model with bound tools", "Pass the model itself, and its tools as `tools`."] as const;

describe.each(["model", "summaryModel", "fallbackModels[0]"] as const)("As `%s`", (setting) => {
  const build = (given: unknown) =>
    setting === "fallbackModels[0]"
      ? createAgentGraph({ model: "offline:", fallbackModels: [asModel(given)] })
      : createAgentGraph({ model: "offline:", [setting]: asModel(given) });

  it.each([
    ["bound tools of OpenAI's client", openAI.bindTools(tools), ...BOUND_TOOLS],
    ["bound tools of Anthropic's client", anthropic.bindTools(tools), ...BOUND_TOOLS],
    ["bound tools of `initChatModel`", configurable.bindTools(tools), ...BOUND_TOOLS],
    ["a form of the answers of `initChatModel`", configurable.withStructuredOutput(form), ...STRUCTURED],
    ["bound tools of the offline model", offline.bindTools(tools), ...BOUND_TOOLS],
    [
      "tools in a config over a config",
      anthropic.bindTools(tools).withConfig({ tags: ["a"] }),
      ...BOUND_TOOLS,
    ],
    [
      "fallbacks",
      openAI.withFallbacks([anthropic]),
      "a model with fallbacks",
      "Pass the model itself, and the other models as `fallbackModels`.",
    ],
    ["a form of OpenAI's answers", openAI.withStructuredOutput(form), ...STRUCTURED],
    ["a form of Anthropic's answers", anthropic.withStructuredOutput(form), ...STRUCTURED],
  ])("a model with %s is refused, and no key is told", (_title, model, got, advice) => {
    expect(() => build(model)).toThrow(InvalidSettingError);
    expect(() => build(model)).toThrow(
      `Expected \`${setting}\` to be a chat model or the name of one, got ${got}. ${advice}`,
    );
  });
});

describe("A model with a config is asked with the tools of the graph:", () => {
  const look = makeTool(
    "look",
    async ({ city }: { city: string }) => `${city}: clear`,
    z.object({ city: z.string() }),
  );
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer(({ messages, tools }) =>
      tools.length > 0 && messages.at(-1)?.role === "user"
        ? { calls: [{ name: "look", args: { city: "Rome" } }] }
        : { text: "Done." },
    );
  });
  afterAll(() => server.stop());
  const fields = () => ({
    model: "gpt-4o",
    apiKey: "test-key",
    maxRetries: 0,
    configuration: { baseURL: server.url },
  });

  it.each<[title: string, make: () => unknown]>([
    ["tags", () => new ChatOpenAI(fields()).withConfig({ tags: ["a"] })],
    [
      "a config around a config",
      () => new ChatOpenAI(fields()).withConfig({ tags: ["a"] }).withConfig({ metadata: { a: 1 } }),
    ],
    ["an option of the request", () => new ChatOpenAI(fields()).withConfig({ stop: ["END"] })],
    ["retries", () => new ChatOpenAI(fields()).withRetry({ stopAfterAttempt: 1 })],
  ])("%s", async (_title, make) => {
    const graph = createAgentGraph({ model: asModel(make()), tools: [look] });
    expect(pairedScript(await graph.invoke(user("How is Rome?")))).toEqual([
      "human: How is Rome?",
      "ai> look",
      "tool: Rome: clear",
      "ai: Done.",
    ]);
  });

  it("its options reach the provider", async () => {
    const model = new ChatOpenAI(fields()).withConfig({ stop: ["END"] }).withConfig({ tags: ["a"] });
    await createAgentGraph({ model: asModel(model), tools: [look] }).invoke(user("How is Rome?"));
    expect(server.bodies.at(-1)).toMatchObject({ stop: ["END"], tools: [{ function: { name: "look" } }] });
  });
});
