/** No value that a tool or a model returns makes its thread unreadable, and the rest of the result is kept. */

import { AIMessage, type AIMessageFields, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraphOptions,
  agentMiddleware,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
} from "../../../src/index.js";
import { nested } from "../../support/foreign-values.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../support/thread.js";
import { titled } from "../../support/titled.js";

const other = tool(async () => "other", { name: "other", description: "other", schema: z.object({}) });

class Row {
  readonly id = 5n;
}

class Page {
  readonly next: Page = this;

  constructor() {
    Object.freeze(this);
  }
}

interface Value {
  readonly title: string;
  readonly value: unknown;
  readonly stored: unknown;
}

const VALUES = titled<Value>([
  { title: "a bigint", value: 5n, stored: "5" },
  {
    title: "rows with bigints",
    value: { rows: [{ id: 5n, name: "x" }] },
    stored: { rows: [{ id: "5", name: "x" }] },
  },
  { title: "an object of a class with a bigint", value: [new Row()], stored: [{ id: "5" }] },
  { title: "an array of bigints", value: { ids: new BigInt64Array([5n]) }, stored: { ids: { "0": "5" } } },
  {
    title: "an error with a bigint",
    value: [Object.assign(new Error("x"), { id: 5n })],
    stored: [{ id: "5" }],
  },
  { title: "a tool", value: { tool: other }, stored: { tool: expect.stringContaining("not_implemented") } },
  {
    title: "a template",
    value: [ChatPromptTemplate.fromMessages([["user", "x"]])],
    stored: [expect.stringContaining("ChatPromptTemplate")],
  },
  {
    title: "an object with deep JSON",
    value: { deep: { toJSON: () => nested(60) } },
    stored: { deep: expect.stringContaining("deep") },
  },
  {
    title: "an object whose JSON names a class",
    value: { form: { toJSON: () => ({ lc: 1, type: "constructor", id: ["nowhere"], kwargs: {} }) } },
    stored: { form: expect.stringContaining("nowhere") },
  },
  {
    title: "an object whose JSON cannot be read",
    value: {
      form: {
        toJSON: () => {
          throw new Error("Not to be read");
        },
      },
    },
    stored: { form: expect.stringContaining("cannot be written") },
  },
  { title: "a deep value", value: [[nested(60)]], stored: [[expect.stringContaining("deep")]] },
  {
    title: "a frozen object that contains itself",
    value: { page: new Page() },
    stored: { page: expect.anything() },
  },
]);

const RESULTS = {
  "an artifact": (value: unknown, id: string) =>
    new ToolMessage({ content: "done", tool_call_id: id, artifact: value }),
  "an additional field": (value: unknown, id: string) =>
    new ToolMessage({ content: "done", tool_call_id: id, additional_kwargs: { value } }),
  "the messages of a command": (value: unknown, id: string) =>
    new Command({
      update: {
        messages: [
          new ToolMessage({ content: "done", tool_call_id: id, artifact: value }),
          new HumanMessage({ content: "note", additional_kwargs: { value } }),
        ],
      },
    }),
};

function createThread(result: (id: string) => unknown) {
  const give = makeTool("give", async (_, { toolCallId }: ToolRuntime) => result(toolCallId));
  const model = new FunctionModel(({ text }) =>
    text === "work" ? calls(["give", {}], ["other", {}]) : "fine",
  );
  return createAgentGraph({ model, tools: [give, other], checkpointer: new MemorySaver() });
}

const config = inThread("1");

describe.each(Object.entries(RESULTS))("A tool that returns, in %s,", (way, result) => {
  it.each(VALUES)("%s keeps its result, and the thread goes on", async (_title, { value, stored }) => {
    const graph = createThread((id) => result(value, id));
    await graph.invoke(user("work"), config);
    const messages = pairedMessagesOf(await graph.invoke(user("and now?"), config));
    const [given, sibling] = messages.filter(({ type }) => type === "tool");
    expect(given).toMatchObject({ content: "done" });
    expect(sibling).toMatchObject({ content: "other" });
    if (way === "an artifact") expect(Reflect.get(Object(given), "artifact")).toEqual(stored);
    expect(messages.at(-1)?.text).toBe("fine");
  });
});

describe("A message of a class that a program has made", () => {
  class OwnAI extends AIMessage {}
  class OwnHuman extends HumanMessage {}
  class OwnResult extends ToolMessage {}

  it.each(titled([{ title: "input" }, { title: "an update of the state" }]))(
    "is stored as LangChain's class, and the thread goes on (%s)",
    async (title) => {
      const graph = createThread(() => "done");
      const given = [new OwnHuman("hello"), new OwnAI("hi")];
      if (title === "input") await graph.invoke({ messages: given }, config);
      else await graph.updateState(config, { messages: given }, "model");
      const messages = pairedMessagesOf(await graph.invoke(user("and now?"), config));
      expect(messages.slice(0, 2).map((message) => [message.constructor, message.text])).toEqual([
        [HumanMessage, "hello"],
        [AIMessage, "hi"],
      ]);
    },
  );

  it("is stored as LangChain's class if a model or a tool returns it", async () => {
    const give = makeTool(
      "give",
      async (_, { toolCallId }: ToolRuntime) => new OwnResult({ content: "done", tool_call_id: toolCallId }),
    );
    const model = new FunctionModel(({ text }) =>
      text === "work" ? calls(["give", {}]) : new OwnAI("fine"),
    );
    const graph = createAgentGraph({ model, tools: [give], checkpointer: new MemorySaver() });
    await graph.invoke(user("work"), config);
    const messages = pairedMessagesOf(await graph.invoke(user("and now?"), config));
    expect(messages.map(({ text }) => text)).toEqual(["work", "", "done", "fine", "and now?", "fine"]);
    expect(messages[2]?.constructor).toBe(ToolMessage);
  });
});

// Values that are nested too deep for a checkpoint. LangChain writes them, and then fails in every read of the thread.
// A model and a tool can make them, without a client.

const LEVELS = [60, 10_000];
type Options = Omit<AgentGraphOptions, "model" | "checkpointer">;

/** Runs two turns, and reads the thread from its checkpoints after each. The first request gets this response. */
async function playTwice(response: AIMessage, options: Options): Promise<string[]> {
  const responses: (string | AIMessage)[] = [response];
  const model = new FunctionModel(() => responses.shift() ?? "done");
  const graph = createAgentGraph({ model, checkpointer: new MemorySaver(), ...options });
  const read = async () => pairedScript((await graph.getState(config)).values);
  await graph.invoke(user("go"), config);
  const first = await read();
  await graph.invoke(user("next"), config);
  expect(await read()).toEqual([...first, "human: next", "ai: done"]);
  expect(model.refused).toEqual([]);
  return first;
}

function giving(value: (callId: string) => unknown) {
  return makeTool("give", async (_input, { toolCall }) => value(toolCall?.id ?? ""));
}

describe.each(LEVELS)("A value with %d levels", (levels) => {
  const deep = nested(levels);
  const block = { type: "text", text: "x", extra: deep };
  const result = (id: string, fields: object) =>
    new ToolMessage({ content: "x", tool_call_id: id, ...fields });

  const VALUES: readonly (readonly [where: string, value: (callId: string) => unknown])[] = [
    ["the artifact of a tool's result", (id) => result(id, { artifact: deep })],
    ["the content of a tool's result", (id) => result(id, { content: [block] })],
    ["the fields of a tool's result", (id) => result(id, { additional_kwargs: { deep } })],
    [
      "the result in a tool's command",
      (id) => new Command({ update: { messages: [result(id, { artifact: deep })] } }),
    ],
    [
      "another message of a tool's command",
      (id) => new Command({ update: { messages: [result(id, {}), new HumanMessage({ content: [block] })] } }),
    ],
  ];

  it.each(VALUES)("in %s is stored as a text, and the rest of the result is kept", async (_where, value) => {
    const probe = createProbe();
    const lines = await playTwice(calls(["give", {}], ["fast", {}]), {
      tools: [giving(value), probe.fast],
    });
    const rest = lines.filter((line) => line !== "human: x");
    expect(rest).toEqual(["human: go", "ai> give fast", "tool: x", "tool: fast done -", "ai: done"]);
  });

  it("in a result that a middleware sets is stored in a form that can be read", async () => {
    const middleware = functionMiddleware(async (context, next) => {
      await next();
      context.result = new ToolMessage({ content: "x", tool_call_id: context.call.id, artifact: deep });
    });
    const lines = await playTwice(calls(["give", {}]), {
      tools: [giving(() => "fine")],
      middleware: [middleware],
    });
    expect(lines).toEqual(["human: go", "ai> give", "tool: x", "ai: done"]);
  });

  it("in the arguments of a model's call is refused, and the tool is not run", async () => {
    const { fast, runs } = createProbe();
    const lines = await playTwice(calls(["fast", { label: deep }], ["fast", { label: "2" }]), {
      tools: [fast],
    });
    expect(lines).toEqual([
      "human: go",
      "ai> fast fast",
      "tool: fast done 2",
      expect.stringMatching(/^tool! Error: the arguments of `fast` were refused.*at most 40 levels deep$/),
      "ai: done",
    ]);
    expect(runs).toEqual(["fast:2"]);
  });

  const FIELDS: readonly (readonly [name: string, fields: AIMessageFields])[] = [
    ["content", { content: [block] }],
    ["additional_kwargs", { content: "x", additional_kwargs: { reasoning: deep } }],
    ["response_metadata", { content: "x", response_metadata: { deep } }],
  ];

  it.each(FIELDS)("in the %s of a response is stored in a form that can be read", async (_name, fields) => {
    const lines = await playTwice(new AIMessage(fields), {});
    expect(lines).toEqual(["human: go", "ai: x"]);
  });

  it("in a response passes middleware of every kind", async () => {
    const through = async (_context: object, next: () => Promise<void>) => next();
    const lines = await playTwice(new AIMessage({ content: [block] }), {
      middleware: [agentMiddleware(through), chatMiddleware(through)],
    });
    expect(lines).toEqual(["human: go", "ai: x"]);
  });
});
