/**
 * Values that are nested too deep for a checkpoint. LangChain writes them, and then fails in every read of the thread.
 * A model and a tool can make them, without a client.
 */

import { AIMessage, type AIMessageFields, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
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
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const config = inThread("1");
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

/** A tool that gives the value for its call. */
function giving(value: (callId: string) => unknown) {
  return tool(async (_input, { toolCall }) => value(toolCall?.id ?? ""), {
    name: "give",
    description: "Gives a value.",
    schema: z.object({}),
  });
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
