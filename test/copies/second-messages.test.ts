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
import { reduceMessages, repairHistory } from "../../src/history.js";
import {
  chatMiddleware,
  createAgentGraph,
  type MessageSerializer,
  messageSerializer,
} from "../../src/index.js";
import { human } from "../support/make-messages.js";
import { startModelServer } from "../support/model-server.js";
import { calls, scripted } from "../support/scripted-model.js";
import { second } from "../support/second-copy.js";
import { stopAtEnd } from "../support/stop-at-end.js";
import { PlainClient } from "../support/stream-faults.js";
import { strictViolations } from "../support/strict-check.js";
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
  describe.each([
    ["alone", []],
    ["with a chat middleware", [passOn]],
  ])("%s", (_with, middleware) => {
    // A response whose calls were lost would be requested again.
    const build = () =>
      createAgentGraph({ model: make(), tools: [look], middleware, maxStreamFallbackAttempts: 0 });

    it("keeps its calls in `invoke`", async () => {
      expect(pairedScript(await build().invoke(user(QUESTION)))).toEqual(EXPECTED);
    });

    it("keeps its calls in `stream`, and shows the client the same messages", async () => {
      const client = new PlainClient();
      let last: unknown;
      const stream = await build().stream(user(QUESTION), { streamMode: ["messages", "values"] });
      for await (const [mode, data] of stream) {
        if (mode === "values") last = data;
        else client.add((data as unknown as [BaseMessage])[0]);
      }
      expect(pairedScript(last)).toEqual(EXPECTED);
      expect(script(client.messages).filter((line) => line.startsWith("ai"))).toEqual(
        EXPECTED.filter((line) => line.startsWith("ai")),
      );
    });

    it("keeps its calls in `streamEvents`", async () => {
      let last: unknown;
      for await (const { event, name, data } of build().streamEvents(user(QUESTION), { version: "v2" }))
        if (event === "on_chain_end" && name === "agent") last = data.output;
      expect(pairedScript(last)).toEqual(EXPECTED);
    });
  });

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
    expect(messages.map(({ additional_kwargs }) => additional_kwargs["lc_source"])).toContain(
      "summarization",
    );
  });
});

// Tools that use a second copy of LangChain or LangGraph.

const schema = z.object({ city: z.string() });

function secondTool(run: (city: string, callId: string) => unknown) {
  return second.tools.tool(
    async ({ city }: { city: string }, config) => run(city, String(config.toolCall?.id)),
    {
      name: "look",
      description: "Looks at the sky.",
      schema,
    },
  );
}

const asked = (args: object = { city: "Rome" }) => scripted(calls(["look", args, "c1"]), "Done.");

describe("A tool of a second copy", () => {
  it("is run", async () => {
    const graph = createAgentGraph({ model: asked(), tools: [secondTool((city) => `${city}: sunny`)] });
    expect(pairedScript(await graph.invoke(user("look")))).toContain("tool: Rome: sunny");
  });

  it("tells the model which field does not match its schema", async () => {
    const graph = createAgentGraph({ model: asked({ city: 7 }), tools: [secondTool(() => "not run")] });
    const result = pairedMessagesOf(await graph.invoke(user("look"))).find(({ type }) => type === "tool");
    expect(result?.text).toContain("the arguments of `look` were refused, so it was not run");
    expect(result?.text).toMatch(/expected string, received number[\s\S]*city/);
  });

  it("whose own error has an output keeps that error", async () => {
    const failing = secondTool(() => {
      throw Object.assign(new Error("exit code 1"), { output: "two lines" });
    });
    const graph = createAgentGraph({ model: asked(), tools: [failing] });
    expect(pairedScript(await graph.invoke(user("look")))).toContain("tool! Error: `look` failed.");
  });

  it.each([
    [
      "a result",
      (id: string) =>
        new second.messages.ToolMessage({ content: "sunny", tool_call_id: id, artifact: { page: 3 } }),
    ],
    [
      "a command with its result",
      (id: string) =>
        new second.langGraph.Command({
          update: {
            messages: [
              new second.messages.ToolMessage({ content: "sunny", tool_call_id: id, artifact: { page: 3 } }),
            ],
          },
        }),
    ],
  ])("can return %s", async (_what, make) => {
    const graph = createAgentGraph({ model: asked(), tools: [secondTool((_city, id) => make(id))] });
    const result = pairedMessagesOf(await graph.invoke(user("look"))).find(({ type }) => type === "tool");
    expect(result).toMatchObject({ content: "sunny", tool_call_id: "c1", artifact: { page: 3 } });
  });

  it("can send work to a node of a parent graph", async () => {
    const handOff = secondTool(
      (city) =>
        new second.langGraph.Command({
          graph: second.langGraph.Command.PARENT,
          goto: [new second.langGraph.Send("worker", { city })],
        }),
    );
    const State = Annotation.Root({
      messages: Annotation<unknown[]>({ reducer: (_old, next) => next, default: () => [] }),
      seen: Annotation<string>(),
    });
    const parent = new StateGraph(State)
      .addNode(
        "agent",
        createAgentGraph({ model: scripted(calls(["look", { city: "Rome" }])), tools: [handOff] }),
        {
          ends: ["worker"],
        },
      )
      .addNode("worker", ({ city }: { city: string }) => ({ seen: city }), {
        input: Annotation.Root({ city: Annotation<string>() }),
      } as never)
      .addEdge(START, "agent")
      .compile();
    expect(await parent.invoke(user("look"))).toMatchObject({ seen: "Rome" });
  });

  it("can ask a human, and goes on with the decision", async () => {
    const ask = secondTool((city) => `${city}: ${second.langGraph.interrupt("Which day?")}`);
    const graph = createAgentGraph({ model: asked(), tools: [ask], checkpointer: new MemorySaver() });
    const waiting = await graph.invoke(user("look"), inThread("1"));
    expect(messagesOf(waiting).at(-1)?.type).toBe("ai");
    expect(waiting).toMatchObject({ __interrupt__: [{ value: "Which day?" }] });
    const done = await graph.invoke(new Command({ resume: "Monday" }), inThread("1"));
    expect(pairedScript(done)).toContain("tool: Rome: Monday");
  });

  it("lets LangGraph's own signals through", async () => {
    const signal = secondTool(() => {
      throw new second.langGraph.GraphInterrupt([{ id: "i1", value: "Which day?" }]);
    });
    const graph = createAgentGraph({
      model: scripted(calls(["look", { city: "Rome" }])),
      tools: [signal],
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("look"), inThread("1"));
    const { tasks } = await graph.getState(inThread("1"));
    expect(tasks.flatMap(({ interrupts }) => interrupts)).toMatchObject([{ value: "Which day?" }]);
  });
});

describe("A client's command of a second copy", () => {
  it("resumes a run", async () => {
    const ask = secondTool((city) => `${city}: ${second.langGraph.interrupt("Which day?")}`);
    const graph = createAgentGraph({ model: asked(), tools: [ask], checkpointer: new MemorySaver() });
    await graph.invoke(user("look"), inThread("1"));
    const done = await graph.invoke(new second.langGraph.Command({ resume: "Monday" }), inThread("1"));
    expect(pairedScript(done)).toContain("tool: Rome: Monday");
  });

  it("cannot send work to the tools", async () => {
    const graph = createAgentGraph({ model: "offline:", tools: [secondTool(() => "not run")] });
    const send = new second.langGraph.Send("tools", { call: { id: "c1", name: "look" }, args: {} });
    await expect(graph.invoke(new second.langGraph.Command({ goto: send }))).rejects.toThrow(
      "only calls that the model makes are run",
    );
  });

  it("cannot write a `Send` into the state", async () => {
    const graph = createAgentGraph({
      model: "offline:",
      tools: [secondTool(() => "not run")],
      checkpointer: new MemorySaver(),
    });
    const send = new second.langGraph.Send("tools", { call: { id: "c1", name: "look" }, args: {} });
    await expect(graph.updateState(inThread("1"), send as never)).rejects.toThrow(
      "only calls that the model makes are run",
    );
  });
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
