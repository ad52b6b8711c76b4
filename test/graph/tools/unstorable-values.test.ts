/** No value that a tool or a model returns makes its thread unreadable, and the rest of the result is kept. */

import { AIMessage, type AIMessageFields, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import type { AgentGraphOptions } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { nested } from "../../support/foreign-values.js";
import { lines } from "../../support/lines.js";
import { afterNext, beforeNext } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import { rowsOf } from "../../support/test-tools.js";
import { createProbe, makeTool } from "../../support/tools.js";

const { fast } = createProbe();

class Row {
  readonly id = 5n;
}

class Page {
  readonly next: Page = this;

  constructor() {
    Object.freeze(this);
  }
}

const withJSON = (toJSON: () => unknown) => ({ form: { toJSON } });
const unreadable = () => {
  throw new Error("Not to be read");
};

/** Met first at a level where it fits, and then below one where it does not. */
const shared = nested(20);

const VALUES = rowsOf<[value: unknown, stored: unknown]>({
  "a bigint": [5n, "5"],
  "rows with bigints": [{ rows: [{ id: 5n, name: "x" }] }, { rows: [{ id: "5", name: "x" }] }],
  "an object of a class with a bigint": [[new Row()], [{ id: "5" }]],
  "an array of bigints": [{ ids: new BigInt64Array([5n]) }, { ids: { "0": "5" } }],
  "an error with a bigint": [[Object.assign(new Error("x"), { id: 5n })], [{ id: "5" }]],
  "a tool": [{ tool: fast }, { tool: expect.stringContaining("not_implemented") }],
  "a template": [
    [ChatPromptTemplate.fromMessages([["user", "x"]])],
    [expect.stringContaining("ChatPromptTemplate")],
  ],
  "an object with deep JSON": [withJSON(() => nested(60)), { form: expect.stringContaining("deep") }],
  "an object whose JSON names a class": [
    withJSON(() => ({ lc: 1, type: "constructor", id: ["nowhere"], kwargs: {} })),
    { form: expect.stringContaining("nowhere") },
  ],
  "an object whose JSON cannot be read": [
    withJSON(unreadable),
    { form: expect.stringContaining("cannot be written") },
  ],
  "a deep value": [[[nested(60)]], [[expect.stringContaining("deep")]]],
  "a part that is too deep in its second place": [
    [{ fits: nested(6, shared), exceeds: nested(34, shared) }],
    [{ fits: expect.anything(), exceeds: expect.stringContaining("deep") }],
  ],
  "a frozen object that contains itself": [{ page: new Page() }, { page: expect.anything() }],
});

const done = (id: string, fields: object) =>
  new ToolMessage({ content: "done", tool_call_id: id, ...fields });

/** Tools that return the value in a place of their result. */
const placing = (value: unknown) =>
  Object.entries<(id: string) => unknown>({
    artifact: (id) => done(id, { artifact: value }),
    field: (id) => done(id, { additional_kwargs: { value } }),
    command: (id) => {
      const note = new HumanMessage({ content: "note", additional_kwargs: { value } });
      return new Command({ update: { messages: [done(id, { artifact: value }), note] } });
    },
  }).map(([name, run]) => makeTool(name, async (_, { toolCallId }: ToolRuntime) => run(toolCallId)));

it.each(VALUES)(
  "Tools that return %s keep their results, and the thread goes on",
  async (_title, value, stored) => {
    const batch = calls(["artifact"], ["field"], ["command"], ["fast"]);
    const { run, messages } = agentThread([batch, "fine", "fine"], { tools: [...placing(value), fast] });
    await run();
    expect((await run("and now?")).slice(2)).toEqual(
      lines(
        "tool: done | tool: done | tool: done | tool: fast done - | human: note | ai: fine",
        "human: and now? | ai: fine",
      ),
    );
    expect((await messages())[2]).toHaveProperty("artifact", stored);
  },
);

describe("A message of a class that a program has made is stored as LangChain's class", () => {
  class OwnAI extends AIMessage {}
  class OwnHuman extends HumanMessage {}
  class OwnResult extends ToolMessage {}

  it.each(["input", "an update of the state"])("as %s", async (way) => {
    const { graph, config, invoke, messages } = agentThread(["fine"]);
    const given = { messages: [new OwnHuman("hello"), new OwnAI("hi")] };
    if (way === "input") await invoke(given);
    else await graph.updateState(config, given, "model");
    await invoke("and now?");
    const stored = (await messages()).slice(0, 2).map((message) => [message.constructor, message.text]);
    expect(stored).toEqual([
      [HumanMessage, "hello"],
      [AIMessage, "hi"],
    ]);
  });

  it("if a model or a tool returns it", async () => {
    const give = makeTool(
      "give",
      async (_, { toolCallId }: ToolRuntime) => new OwnResult({ content: "done", tool_call_id: toolCallId }),
    );
    const { run, messages } = agentThread([calls(["give"]), new OwnAI("fine"), "good"], { tools: [give] });
    await run();
    const lines = ["ai> give", "tool: done", "ai: fine", "human: and now?", "ai: good"];
    expect((await run("and now?")).slice(1)).toEqual(lines);
    const stored = (await messages()).slice(2, 4).map((message) => message.constructor);
    expect(stored).toEqual([ToolMessage, AIMessage]);
  });
});

// Values that are nested too deep for a checkpoint. LangChain writes them, and then fails in every read of the thread.
// A model and a tool can make them, without a client.

/** Runs two turns, and reads the thread from its checkpoints after each. The first request gets this response. */
async function playTwice(response: AIMessage, options: Partial<AgentGraphOptions>): Promise<string[]> {
  const steps = response.tool_calls?.length === 0 ? [response] : [response, "done"];
  const { run, lines } = agentThread([...steps, "done"], options);
  await run();
  const first = await lines();
  await run("next");
  expect(await lines()).toEqual([...first, "human: next", "ai: done"]);
  return first.slice(1);
}

const giving = (value: (callId: string) => unknown) =>
  makeTool("give", async (_input, { toolCallId }: ToolRuntime) => value(toolCallId));

describe.each([60, 10_000])("A value with %d levels", (levels) => {
  const deep = nested(levels);
  const block = { type: "text", text: "done", extra: deep };

  it.each<[where: string, value: (callId: string) => unknown]>([
    ["the artifact of a tool's result", (id) => done(id, { artifact: deep })],
    ["the content of a tool's result", (id) => done(id, { content: [block] })],
    ["the fields of a tool's result", (id) => done(id, { additional_kwargs: { deep } })],
    [
      "the result in a tool's command",
      (id) => new Command({ update: { messages: [done(id, { artifact: deep })] } }),
    ],
    [
      "another message of a tool's command",
      (id) => new Command({ update: { messages: [done(id, {}), new HumanMessage({ content: [block] })] } }),
    ],
  ])("in %s is stored as a text, and the rest of the result is kept", async (_where, value) => {
    const lines = await playTwice(calls(["give"], ["fast"]), { tools: [giving(value), fast] });
    const rest = lines.filter((line) => line !== "human: done");
    expect(rest).toEqual(["ai> give fast", "tool: done", "tool: fast done -", "ai: done"]);
  });

  it("in a result that a middleware sets is stored in a form that can be read", async () => {
    const middleware = afterNext("function", (context) => {
      context.result = done(context.call.id, { artifact: deep });
    });
    const options = { tools: [giving(() => "fine")], middleware: [middleware] };
    expect(await playTwice(calls(["give"]), options)).toEqual(["ai> give", "tool: done", "ai: done"]);
  });

  it("in the arguments of a model's call is refused, and the tool is not run", async () => {
    const probe = createProbe();
    const batch = calls(["fast", { label: deep }], ["fast", { label: "2" }]);
    expect(await playTwice(batch, { tools: [probe.fast] })).toEqual(
      lines(
        "ai> fast fast | tool: fast done 2",
        "tool! Error: the arguments of `fast` were refused…at most 40 levels deep | ai: done",
      ),
    );
    expect(probe.runs).toEqual(["fast:2"]);
  });

  it.each<[name: string, fields: AIMessageFields]>([
    ["content", { content: [block] }],
    ["additional_kwargs", { content: "done", additional_kwargs: { reasoning: deep } }],
    ["response_metadata", { content: "done", response_metadata: { deep } }],
  ])("in the %s of a response is stored in a form that can be read", async (_name, fields) => {
    expect(await playTwice(new AIMessage(fields), {})).toEqual(["ai: done"]);
  });

  it("in a response passes middleware of every kind", async () => {
    const middleware = (["agent", "chat"] as const).map((kind) => beforeNext(kind, () => {}));
    expect(await playTwice(new AIMessage({ content: [block] }), { middleware })).toEqual(["ai: done"]);
  });
});
