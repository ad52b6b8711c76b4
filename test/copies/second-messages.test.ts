/** Messages of a second copy of LangChain, in an update and in a list. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { repairHistory } from "../../src/history.js";
import {
  chatMiddleware,
  createAgentGraph,
  type MessageSerializer,
  messageSerializer,
} from "../../src/index.js";
import { reduceMessages } from "../support/internals.js";
import { human } from "../support/make-messages.js";
import { startModelServer } from "../support/model-server.js";
import { calls } from "../support/models.js";
import { scripted } from "../support/scripted-model.js";
import { second } from "../support/second-copy.js";
import { PlainClient } from "../support/stream-faults.js";
import { strictViolations } from "../support/strict-check.js";
import { stopAtEnd } from "../support/test-tools.js";
import { inThread, messagesOf, pairedMessagesOf, pairedScript, script, user } from "../support/thread.js";
import { countedSerializer, expectSame } from "../support/two-serializers.js";

const call = { id: "c1", name: "look", args: { city: "Rome" } };

describe("a chunk is stored as the class of this copy without chunks:", () => {
  const fields = { content: "hi", id: "x" };
  const chunks: readonly (readonly [title: string, chunk: BaseMessage, stored: unknown])[] = [
    ["AI", new second.messages.AIMessageChunk(fields), AIMessage],
    ["human", new second.messages.HumanMessageChunk(fields), HumanMessage],
    ["system", new second.messages.SystemMessageChunk(fields), SystemMessage],
    ["function", new second.messages.FunctionMessageChunk({ ...fields, name: "f" }), FunctionMessage],
    ["other", new second.messages.ChatMessageChunk({ ...fields, role: "critic" }), ChatMessage],
  ];

  it.each(chunks)("%s, in an update", (_title, chunk, stored) => {
    expect(reduceMessages([], chunk).messages[0]?.constructor).toBe(stored);
  });

  it.each(chunks)("%s, in a state", (_title, chunk, stored) => {
    expect(reduceMessages([chunk], []).messages[0]?.constructor).toBe(stored);
  });

  it("a result, with its call", () => {
    const streamed = new second.messages.AIMessageChunk({
      content: "",
      id: "a",
      tool_call_chunks: [
        { type: "tool_call_chunk", index: 0, id: "c1", name: "look", args: '{"city":"Rome"}' },
      ],
    });
    const answer = new second.messages.ToolMessageChunk({ content: "sunny", id: "r", tool_call_id: "c1" });
    const { messages, repairs } = reduceMessages([], [streamed, answer]);
    expect(messages.map((message) => message.constructor)).toEqual([AIMessage, ToolMessage]);
    expect(messages[0]).toMatchObject({ tool_calls: [call] });
    expect(messages[0]).not.toHaveProperty("tool_call_chunks");
    expect(repairs).toEqual([]);
  });
});

describe("a message", () => {
  it("is stored as it is", () => {
    const given = [
      new second.messages.SystemMessage({ content: "s", id: "s" }),
      new second.messages.HumanMessage({ content: "h", id: "h" }),
      new second.messages.AIMessage({ content: "", id: "a", tool_calls: [call] }),
      new second.messages.ToolMessage({ content: "sunny", id: "r", tool_call_id: "c1" }),
    ];
    const { messages } = reduceMessages([], given);
    for (const [index, message] of messages.entries()) expect(message).toBe(given[index]);
    expect(reduceMessages(messages, []).messages).toBe(messages);
  });

  it("that removes another one removes it", () => {
    const history = [human("h1"), human("h2")];
    const { messages } = reduceMessages(history, new second.messages.RemoveMessage({ id: "h1" }));
    expect(messages.map(({ id }) => id)).toEqual(["h2"]);
  });

  it("with a call and without a result is closed in a repaired list", () => {
    const given = [
      new second.messages.AIMessage({ content: "", tool_calls: [call] }),
      new second.messages.HumanMessage("And now?"),
    ];
    const { messages } = repairHistory(given);
    expect(strictViolations(messages)).toEqual([]);
    expect(script(messages).map((line) => line.slice(0, 5))).toEqual(["ai> l", "tool!", "human"]);
  });
});

// Models of a second copy of LangChain.

const QUESTION = "How is Rome?";

const look = tool(({ city }) => `${city}: sunny`, {
  name: "look",
  description: "Looks at the sky.",
  schema: z.object({ city: z.string() }),
});

/** Calls the tool once if it is asked about Rome, then repeats its result. */
function respondTo(messages: readonly BaseMessage[]): AIMessage {
  const result = messages.find(({ type }) => type === "tool");
  return result === undefined && messages.at(-1)?.text === QUESTION
    ? new second.messages.AIMessage({
        content: "",
        tool_calls: [{ id: "c1", name: "look", args: { city: "Rome" } }],
      })
    : new second.messages.AIMessage(`It says: ${result?.text}`);
}

class WholeModel extends second.chatModels.BaseChatModel {
  override _llmType() {
    return "second";
  }

  override bindTools(tools: BindToolsInput[]) {
    return this.withConfig({ tools } as never);
  }

  override async _generate(messages: BaseMessage[]) {
    const message = respondTo(messages);
    return { generations: [{ text: message.text, message }] };
  }
}

class StreamingModel extends WholeModel {
  override async *_streamResponseChunks(messages: BaseMessage[]) {
    const { content, tool_calls = [] } = respondTo(messages);
    for (const piece of String(content).split(/(?<= )/)) {
      const message = new second.messages.AIMessageChunk({ content: piece });
      yield new second.outputs.ChatGenerationChunk({ text: piece, message });
    }
    for (const [index, { id = "", name, args }] of tool_calls.entries()) {
      const parts = [{ id, name }, { args: JSON.stringify(args) }];
      for (const part of parts) {
        const message = new second.messages.AIMessageChunk({
          content: "",
          tool_call_chunks: [{ type: "tool_call_chunk", index, ...part }],
        });
        yield new second.outputs.ChatGenerationChunk({ text: "", message });
      }
    }
  }
}

const server = stopAtEnd(
  await startModelServer(({ messages }) => {
    const result = messages.find(({ role }) => role === "tool");
    return result === undefined && messages.at(-1)?.content === QUESTION
      ? { calls: [{ name: "look", args: { city: "Rome" } }] }
      : { text: `It says: ${result?.content}` };
  }),
);

const openAI = (fields: object = {}) =>
  new second.openAI.ChatOpenAI({
    model: "gpt-4o",
    apiKey: "test-key",
    maxRetries: 0,
    configuration: { baseURL: server.url },
    ...fields,
  });

const MODELS: readonly (readonly [title: string, make: () => BaseChatModel])[] = [
  ["a model that only generates", () => new WholeModel({})],
  ["a model that streams", () => new StreamingModel({})],
  ["ChatOpenAI", () => openAI()],
  ["ChatOpenAI with streaming", () => openAI({ streaming: true })],
  ["ChatOpenAI without streaming", () => openAI({ streaming: false })],
  ["ChatOpenAI with a config", () => openAI().withConfig({ tags: ["mine"] }) as unknown as BaseChatModel],
  [
    "a streaming model with a config",
    () => new StreamingModel({}).withConfig({ tags: ["mine"] }) as unknown as BaseChatModel,
  ],
];

const EXPECTED = [`human: ${QUESTION}`, "ai> look", "tool: Rome: sunny", "ai: It says: Rome: sunny"];

const passOn = chatMiddleware(async function passOn(_context, next) {
  await next();
});

describe.each(MODELS)("%s", (_title, make) => {
  // A response whose calls were lost would be requested again.
  it.each([
    ["alone", []],
    ["with a chat middleware", [passOn]],
  ])(
    "%s keeps its calls, however it runs, and shows the client the same messages",
    async (_with, middleware) => {
      const build = () =>
        createAgentGraph({ model: make(), tools: [look], middleware, maxStreamFallbackAttempts: 0 });
      const found: unknown[] = [await build().invoke(user(QUESTION))];

      const client = new PlainClient();
      const stream = await build().stream(user(QUESTION), { streamMode: ["messages", "values"] });
      for await (const [mode, data] of stream) {
        if (mode === "values") found[1] = data;
        else client.add((data as unknown as [BaseMessage])[0]);
      }
      const responses = (lines: readonly string[]) => lines.filter((line) => line.startsWith("ai"));
      expect(responses(script(client.messages))).toEqual(responses(EXPECTED));

      for await (const { event, name, data } of build().streamEvents(user(QUESTION), { version: "v2" }))
        if (event === "on_chain_end" && name === "agent") found[2] = data.output;
      expect(found.map(pairedScript)).toEqual(Array(3).fill(EXPECTED));
    },
  );

  it("writes a summary", async () => {
    const graph = createAgentGraph({
      model: new StreamingModel({}),
      summaryModel: make(),
      tools: [look],
      maxMessagesBeforeSummary: 3,
      messagesToKeep: 1,
    });
    const roles = ["user", "assistant", "user", "assistant", "user"];
    const { messages } = await graph.invoke({
      messages: roles.map((role, index) => ({ role, content: `text ${index}` })),
    });
    const sources = messages.map(({ additional_kwargs }) => additional_kwargs["lc_source"]);
    expect(sources).toContain("summarization");
  });
});

// Tools that use a second copy of LangChain or LangGraph.

const schema = z.object({ city: z.string() });

function secondTool(run: (city: string, callId: string) => unknown) {
  return second.tools.tool(
    async ({ city }: { city: string }, config) => run(city, String(config.toolCall?.id)),
    { name: "look", description: "Looks at the sky.", schema },
  );
}

const asked = (args: object = { city: "Rome" }) => scripted(calls(["look", args, "c1"]), "Done.");

const graphOf = (
  run: (city: string, callId: string) => unknown,
  model: "offline:" | ReturnType<typeof scripted> = asked(),
) => createAgentGraph({ model, tools: [secondTool(run)], checkpointer: new MemorySaver() });

async function resultOf(run: (city: string, callId: string) => unknown, args?: object) {
  const values = await graphOf(run, asked(args)).invoke(user("look"), inThread("1"));
  return pairedMessagesOf(values).find(({ type }) => type === "tool");
}

/** The model is not asked again. */
const askedOnce = () => scripted(calls(["look", { city: "Rome" }]));
const { Command: SecondCommand, GraphInterrupt, interrupt, Send } = second.langGraph;
const ask = (city: string) => `${city}: ${interrupt("Which day?")}`;
const waiting = [{ value: "Which day?" }];
const sunny = (id: string) =>
  new second.messages.ToolMessage({ content: "sunny", tool_call_id: id, artifact: { page: 3 } });

describe("A tool of a second copy", () => {
  it.each<[what: string, run: (city: string, id: string) => unknown, result: object]>([
    ["is run", (city) => `${city}: sunny`, { content: "Rome: sunny" }],
    [
      "can return a result",
      (_, id) => sunny(id),
      { content: "sunny", tool_call_id: "c1", artifact: { page: 3 } },
    ],
    [
      "can return a command with its result",
      (_, id) => new SecondCommand({ update: { messages: [sunny(id)] } }),
      { content: "sunny", tool_call_id: "c1", artifact: { page: 3 } },
    ],
    [
      "keeps its own error, though that has an output",
      () => {
        throw Object.assign(new Error("exit code 1"), { output: "two lines" });
      },
      { status: "error", content: "Error: `look` failed." },
    ],
  ])("%s", async (_what, run, result) => {
    expect(await resultOf(run)).toMatchObject(result);
  });

  it("tells the model which field does not match its schema", async () => {
    const result = await resultOf(() => "not run", { city: 7 });
    expect(result?.text).toContain("the arguments of `look` were refused, so it was not run");
    expect(result?.text).toMatch(/expected string, received number[\s\S]*city/);
  });

  it("can send work to a node of a parent graph", async () => {
    const goto = (city: string) =>
      new SecondCommand({ graph: SecondCommand.PARENT, goto: [new Send("worker", { city })] });
    const State = Annotation.Root({
      messages: Annotation<unknown[]>({ reducer: (_old, next) => next, default: () => [] }),
      seen: Annotation<string>(),
    });
    const parent = new StateGraph(State)
      .addNode("agent", graphOf(goto, askedOnce()), { ends: ["worker"] })
      .addNode("worker", ({ city }: { city: string }) => ({ seen: city }), {
        input: Annotation.Root({ city: Annotation<string>() }),
      } as never)
      .addEdge(START, "agent")
      .compile();
    expect(await parent.invoke(user("look"))).toMatchObject({ seen: "Rome" });
  });

  it.each([
    ["", new Command({ resume: "Monday" })],
    [" in a command of its copy", new SecondCommand({ resume: "Monday" })],
  ])("can ask a human, and goes on with the decision%s", async (_, decision) => {
    const graph = graphOf(ask);
    const asked = await graph.invoke(user("look"), inThread("1"));
    expect(messagesOf(asked).at(-1)?.type).toBe("ai");
    expect(asked).toMatchObject({ __interrupt__: waiting });
    expect(pairedScript(await graph.invoke(decision, inThread("1")))).toContain("tool: Rome: Monday");
  });

  it("lets LangGraph's own signals through", async () => {
    const graph = graphOf(() => {
      throw new GraphInterrupt([{ id: "i1", value: "Which day?" }]);
    }, askedOnce());
    await graph.invoke(user("look"), inThread("1"));
    const { tasks } = await graph.getState(inThread("1"));
    expect(tasks.flatMap(({ interrupts }) => interrupts)).toMatchObject(waiting);
  });
});

it("A client's command of a second copy cannot send work to the tools, nor an update with its `Send`", async () => {
  const graph = graphOf(() => "not run", "offline:");
  const send = new Send("tools", { call: { id: "c1", name: "look" }, args: {} });
  const refused = "only calls that the model makes are run";
  await expect(graph.invoke(new SecondCommand({ goto: send }), inThread("1"))).rejects.toThrow(refused);
  await expect(graph.updateState(inThread("1"), send as never)).rejects.toThrow(refused);
});

// The serializer beside a second copy of LangChain and LangGraph.

const firstOf = async (serializer: MessageSerializer, messages: readonly unknown[]) =>
  Object(await serializer.loadsTyped(...(await serializer.dumpsTyped(messages))))[0];

describe("messageSerializer", () => {
  it("writes messages of the other copy as LangGraph does, and reads them as messages of its own", async () => {
    const ours = await countedSerializer();
    const { AIMessage: Second, AIMessageChunk, ToolMessage } = second.messages;
    const fields = { content: "a", id: "1", tool_calls: [{ id: "c", name: "n", args: { a: undefined } }] };
    await expectSame(ours, () => [
      new Second(fields),
      new AIMessageChunk({ content: "a" }),
      new ToolMessage({ content: "a", tool_call_id: "c", artifact: { inner: new Second("b") } }),
      new HumanMessage({ content: "a", additional_kwargs: { inner: new Second("b") } }),
      new AIMessage(fields),
    ]);
    expect(Object.getPrototypeOf(await firstOf(ours, [new Second(fields)]))).toBe(AIMessage.prototype);
  });

  it("makes messages of the other copy, if it is given the serializer of that copy", async () => {
    const { MemorySaver } = second.langGraph;
    const theirs = new MemorySaver().serde;
    const ours = messageSerializer(theirs);
    const read = await firstOf(ours, [new HumanMessage("a")]);
    const expected = await firstOf(theirs, [new HumanMessage("a")]);
    expect(Object.getPrototypeOf(read)).toBe(Object.getPrototypeOf(expected));
    expect(Object.getPrototypeOf(read)).not.toBe(HumanMessage.prototype);
  });
});
