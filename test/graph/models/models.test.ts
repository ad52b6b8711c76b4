import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, type RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { END, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
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
import { tetherMiddleware } from "../../../src/langchain.js";
import { openAIAt } from "../../support/clients.js";
import { OfflineChatModel } from "../../support/internals.js";
import { lines } from "../../support/lines.js";
import { removal } from "../../support/make-messages.js";
import { type ModelServer, startModelServer } from "../../support/model-server.js";
import {
  ALTERNATE,
  type Answer,
  alternating,
  calls,
  FunctionModel,
  OpenAILike,
} from "../../support/models.js";
import { openThread } from "../../support/open-thread.js";
import { type ScriptedModel, scripted } from "../../support/scripted-model.js";
import { abortRun } from "../../support/test-tools.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const config = inThread("1");

/** A graph with one tool, and a checkpointer. */
const graphOf = (model: FunctionModel | ScriptedModel | FakeListChatModel) =>
  createAgentGraph({ model, tools: [createProbe().fast], checkpointer: new MemorySaver() });

describe("a model that", () => {
  it("fails reaches the caller with its own error, and the results of its turn stay", async () => {
    const graph = graphOf(scripted(calls(["fast", { label: "1" }]), new Error("503 overloaded"), "better"));
    await expect(graph.invoke(user("x"), config)).rejects.toThrow("503 overloaded");
    expect(pairedScript(await graph.invoke(user("y"), config))).toEqual(
      lines("human: x | ai> fast | tool: fast done 1", "human: y | ai: better"),
    );
  });

  it("has nothing to respond to is not called", async () => {
    const graph = graphOf(scripted());
    expect(await graph.invoke({ messages: [] }, config)).toEqual({ messages: [] });
    const said = { messages: [new HumanMessage("x"), new AIMessage("y")] };
    expect(pairedScript(await graph.invoke(said, config))).toEqual(lines("human: x | ai: y"));
  });
});

/** Sends each request on to another model, and says so after its response. */
class RoutingModel extends FunctionModel {
  constructor() {
    super(
      async ({ messages }) =>
        `routed: ${(await new FunctionModel(() => "hidden").invoke([...messages])).text}`,
    );
  }
}

it.each([
  ["createAgentGraph", () => createAgentGraph({ model: new RoutingModel() })],
  ["createAgent", () => createAgent({ model: new RoutingModel(), middleware: [tetherMiddleware()] })],
])("The tokens of a model that another model asks are not shown: %s", async (_, create) => {
  const shown: string[] = [];
  const stream: unknown = await create().stream(user("hi"), { streamMode: "messages" } as never);
  for await (const [message] of stream as AsyncIterable<[AIMessage]>) shown.push(message.text);
  expect(shown.join("")).toBe("routed: hidden");
});

it("A `createModel` that makes something else is named in the error", async () => {
  const graph = createAgentGraph({ model: "offline:", createModel: async () => 5 as never });
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

const own = (name: string) => createModel(name, { environment: { OPENAI_API_KEY: "sk-own" } });
const keyless = ["ollama:llama", "google-vertexai:gemini"];

it.each([
  ["its model", { model: "openai:gpt-5" }],
  ["its summary model", { model: "offline:", summaryModel: "openai:gpt-5" }],
  ["its model that is shared", { model: "openai:gpt-5", createModel: cachedCreateModel() }],
  ["its model that our function makes", { model: "openai:gpt-5", createModel }],
])("A graph is not built without the key of %s", (_title, options) => {
  expect(() => createAgentGraph(options)).toThrow(InvalidModelError);
  expect(() => createAgentGraph(options)).toThrow(NEEDS_KEY);
  vi.stubEnv("OPENAI_API_KEY", "sk-of-the-test");
  createAgentGraph(options);
});

it.each([
  [
    "with a function of the caller's own, which may have the key",
    { model: "openai:gpt-5", createModel: own },
  ],
  ["with such a function that is shared", { model: "openai:gpt-5", createModel: cachedCreateModel(own) }],
  ["if only a run may choose the model", { model: "offline:", models: ["openai:gpt-5"] }],
  ["if the client finds its credentials", { model: "bedrock:nova", models: keyless }],
])("A graph is built %s", (_title, options) => {
  createAgentGraph(options);
});

// Fake models and nodes give one message object again and again. LangGraph's own tests count on what becomes of it.

const FIELDS = [
  ["PairedMessagesValue", PairedMessagesValue],
  ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
] as const;

describe("FakeListChatModel", () => {
  const fake = () => new FakeListChatModel({ responses: ["one", "two"] });
  /** The types of LangGraph's agent know no schema of this kind. */
  const reactAgent = (field: unknown) => {
    const stateSchema = new StateSchema({ messages: field as typeof PairedMessagesValue }) as never;
    return createReactAgent({ llm: fake(), tools: [], stateSchema, checkpointer: new MemorySaver() });
  };

  it.each([
    ["an agent graph", () => graphOf(fake())],
    ...FIELDS.map(([name, field]) => [`LangGraph's agent with ${name}`, () => reactAgent(field)] as const),
  ] as const)("answers each turn of %s", async (_title, make) => {
    const agent = make() as ReturnType<typeof reactAgent>;
    const send = (content: string) =>
      agent.invoke({ messages: [new HumanMessage(content)] } as never, config);
    await send("first");
    expect(pairedScript(await send("second"))).toEqual(
      lines("human: first | ai: one", "human: second | ai: two"),
    );
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
    expect(pairedScript(result)).toEqual(lines("human: hi | ai: the same"));
    expect(result.messages[1]?.id).toBe(same.id);
  });

  it("with a call from each request of a model is a new message of an agent graph, so its turn ends", async () => {
    const same = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "fast", args: {} }] });
    const graph = graphOf(new FunctionModel(({ index }) => (index < 3 ? same : "done")));
    const lines = pairedScript(await graph.invoke(user("hi"), config));
    expect(lines.filter((line) => line === "ai> fast")).toHaveLength(3);
    expect(lines.at(-1)).toBe("ai: done");
  });
});

it("Every message of the `updates` stream has the id that the state has", async () => {
  const graph = graphOf(new FunctionModel(({ index }) => (index === 0 ? calls(["fast"]) : "done")));
  const shown: unknown[] = [];
  for await (const update of await graph.stream(user("go"), { ...config, streamMode: "updates" }))
    for (const { messages = [] } of [update.model ?? {}, update.tools ?? {}])
      shown.push(...messages.map(({ id }) => id));
  const { messages = [] } = (await graph.getState(config)).values;
  expect(shown).toEqual(messages.slice(1).map(({ id }: { id?: string }) => id));
  expect(shown).toHaveLength(3);
});

it.each(FIELDS)(
  "LangChain's createAgent with %s keeps its history in form, whatever updates it",
  async (_, field) => {
    const agent = createAgent({
      model: await createModel("offline:"),
      tools: [createProbe().fast],
      stateSchema: new StateSchema({ messages: field as typeof PairedMessagesValue }),
      checkpointer: new MemorySaver(),
    });
    const send = (content: string) => agent.invoke({ messages: [new HumanMessage(content)] }, config);
    const read = async () => messagesOf((await agent.graph.getState(config)).values);
    const expectLines = async (...expected: string[]) =>
      expect(script(await read())).toEqual(lines(...expected));
    const update = (message: RemoveMessage | ToolMessage) =>
      agent.graph.updateState(config, { messages: [message] });

    await send('call fast {"label": "1"} and call fast {"label": "2"}');
    await expectLines("human: … | ai> fast fast | tool: fast done 1 | tool: fast done 2 | ai: …");
    await update(removal("no-such-id"));

    const [, calling, first] = await read();
    await update(removal(first?.id ?? ""));
    await expectLines("human: … | ai> fast fast | tool: fast done 2 | ai: …");
    await update(new ToolMessage({ content: "late", tool_call_id: (first as ToolMessage).tool_call_id }));
    await send("hello");
    const after = "human: hello | ai: …";
    await expectLines("human: … | ai> fast fast | tool: late | tool: fast done 2 | ai: …", after);

    await update(removal(calling?.id ?? ""));
    await expectLines("human: … | ai: …", after);
    await send("hello again");
    expect(pairedScript({ messages: await read() })).toHaveLength(6);
  },
);

// Threads of a LangChain agent that this library's agent takes over in the middle of a batch.

/** A thread of `createAgent` whose run was cancelled when one of two tools had returned. */
async function cancelledThread() {
  const checkpointer = new MemorySaver();
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful];
  const asking = new FunctionModel(() => calls(["fast", { label: "1" }, "a"], ["heedful", {}, "b"]));
  const agent = createAgent({ model: asking, tools, checkpointer });
  await abortRun(
    (signal) => agent.invoke(user("go"), { ...config, signal }),
    async () => {
      await probe.hasBegun(2);
      await expect.poll(async () => (await agent.graph.getState(config)).next.length).toBe(1);
    },
  );
  const model = new FunctionModel(() => "taken over");
  const graph = createAgentGraph({ model, tools, checkpointer });
  return { graph, probe, model };
}

it.each([
  ["the next message", user("next"), "human: next | ai: taken over"],
  ["null", null, "ai: taken over"],
])(
  "A thread of createAgent that was cancelled in the middle of a batch goes on with %s, and has the finished result",
  async (_title, input, end) => {
    const { graph, probe, model } = await cancelledThread();
    expect(pairedScript(await graph.invoke(input, config))).toEqual(
      lines("human: go | ai> fast heedful | tool: fast done 1 | tool! Tool call heedful…", end),
    );
    expect(model.refused).toEqual([]);
    expect(probe.runs).toHaveLength(2);
  },
);

// A model that refuses its own dialect by a rule of some provider gets the strict dialect, once.

const refusal = (status: number, text: string) => Object.assign(new Error(text), { status });

const history = ["one", "two", "three", "four"].map((text, index) =>
  index % 3 === 0 ? new HumanMessage(text) : new AIMessage(text),
);

async function open(answer: Answer) {
  const model = new OpenAILike(answer);
  const graph = graphOf(model);
  await graph.updateState(config, { messages: history });
  return { model, thread: openThread(graph) };
}

describe("A history that the check found sound, and the provider refused", () => {
  it("is sent again in the strict dialect, with an event, and at once in later turns", async () => {
    const { model, thread } = await open(alternating);
    const { error, events } = await thread.send("five");
    expect(error).toBeUndefined();
    expect(model.requests).toHaveLength(2);
    const reason = expect.stringContaining("must alternate");
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "input-reduced",
        rung: "strict",
        reason,
        messageIds: [],
        leftOut: [],
      }),
    );
    const later = await thread.send("six");
    expect(model.requests).toHaveLength(3);
    expect(later.events.filter(({ type }) => type === "input-reduced")).toEqual([]);
  });

  it.each([
    ["twice more, with less of it each time, if the provider refuses everything", refusal(400, ALTERNATE), 3],
    ["once only for a text that is no rule", refusal(400, "400 Unknown model."), 1],
    ["once only for another status", refusal(403, ALTERNATE), 1],
  ])("is sent %s", async (_title, refused, times) => {
    const { model, thread } = await open(() => refused);
    const { status } = refused;
    expect((await thread.send("five")).error).toMatchObject({ code: "MODEL_FAILED", status });
    expect(model.requests).toHaveLength(times);
  });
});

// Models are passed without bound options: tools, fallbacks and response formats are set on the graph.

const apiKey = "sk-secret-of-the-test";
const openAI = new ChatOpenAI({ model: "gpt-5", apiKey });
const anthropic = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey });
const configurable = await initChatModel("gpt-5", { modelProvider: "openai", apiKey });
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
  const look = makeTool("look", ({ city }) => `${city}: clear`, z.object({ city: z.string() }));
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer(({ messages, tools }) =>
      tools.length > 0 && messages.at(-1)?.role === "user"
        ? { calls: [{ name: "look", args: { city: "Rome" } }] }
        : { text: "Done." },
    );
  });
  afterAll(() => server.stop());

  it.each<[title: string, change: (model: ChatOpenAI) => unknown, sent?: object]>([
    ["tags", (model) => model.withConfig({ tags: ["a"] })],
    [
      "a config around a config",
      (model) => model.withConfig({ tags: ["a"] }).withConfig({ metadata: { a: 1 } }),
    ],
    [
      "an option of the request, which reaches the provider",
      (model) => model.withConfig({ stop: ["END"] }).withConfig({ tags: ["a"] }),
      { stop: ["END"] },
    ],
    ["retries", (model) => model.withRetry({ stopAfterAttempt: 1 })],
  ])("%s", async (_title, change, sent = {}) => {
    const model = change(openAIAt(server.url, { model: "gpt-4o" }));
    const graph = createAgentGraph({ model: asModel(model), tools: [look] });
    expect(pairedScript(await graph.invoke(user("How is Rome?")))).toEqual(
      lines("human: How is Rome? | ai> look | tool: Rome: clear | ai: Done."),
    );
    expect(server.bodies.at(-1)).toMatchObject({ ...sent, tools: [{ function: { name: "look" } }] });
  });
});
