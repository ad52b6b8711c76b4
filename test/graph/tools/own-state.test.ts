/** Own keys of the state: who reads and writes them, and what is refused. */

import { ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command, MemorySaver, Overwrite, ReducedValue, StateSchema } from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const concat = (left: string[], right: string[]) => [...left, ...right];

/** The same three keys, in each form that `stateSchema` takes. */
const SCHEMAS = {
  "a zod object": z.object({
    plan: z.string().optional(),
    count: z.number().default(7),
    log: withLangGraph(z.array(z.string()), {
      reducer: { fn: concat, schema: z.array(z.string()) },
      default: () => ["start"],
    }),
  }),
  "a StateSchema": new StateSchema({
    plan: z.string().optional(),
    count: z.number().default(7),
    log: new ReducedValue(
      z.array(z.string()).default(() => ["start"]),
      {
        inputSchema: z.array(z.string()),
        reducer: concat,
      },
    ),
  }),
};

/** A tool that writes what the model says, and a result of its own if it has a text. */
const write = tool(
  ({ update, says }, { toolCallId }: ToolRuntime) =>
    new Command({
      update: {
        ...update,
        ...(says !== undefined && {
          messages: [new ToolMessage({ content: says, tool_call_id: toolCallId })],
        }),
      },
    }),
  {
    name: "write",
    description: "Writes to the state.",
    schema: z.object({ update: z.record(z.string(), z.any()), says: z.string().optional() }),
  },
);

const look = tool(
  (_, { state }: ToolRuntime) => {
    const { messages: _messages, ...own } = state as Record<string, unknown>;
    return JSON.stringify(own);
  },
  { name: "look", description: "Reads the state.", schema: z.object({}) },
);

describe.each(Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[])("own keys, from %s", (form) => {
  const stateSchema = SCHEMAS[form];
  const agent = (...steps: readonly Step[]) =>
    createAgentGraph({
      model: scripted(...steps),
      tools: [write, look],
      stateSchema,
      checkpointer: new MemorySaver(),
    });

  it("are read by tools, with their defaults, and are in the result and the state", async () => {
    const graph = agent(calls(["look"]), "done");
    const result = await graph.invoke(user("hi"), inThread("1"));
    expect(pairedScript(result)[2]).toBe('tool: {"count":7,"log":["start"]}');
    expect(result).toMatchObject({ count: 7, log: ["start"] });
    expect((await graph.getState(inThread("1"))).values).toMatchObject({ count: 7, log: ["start"] });
  });

  it("are taken from the input, and kept in the thread", async () => {
    const graph = agent(calls(["look"]), "done", calls(["look"]), "again");
    await graph.invoke({ ...user("hi"), plan: "go", log: ["a"] }, inThread("1"));
    const result = await graph.invoke(user("more"), inThread("1"));
    expect(pairedScript(result).filter((line) => line.startsWith("tool"))).toEqual([
      'tool: {"plan":"go","count":7,"log":["start","a"]}',
      'tool: {"plan":"go","count":7,"log":["start","a"]}',
    ]);
  });

  it("are written by the command of a tool, the last call of a batch last", async () => {
    const graph = agent(
      calls(
        ["write", { update: { plan: "one", log: ["b"] }, says: "first" }],
        ["write", { update: { plan: "two", log: ["c"] } }],
      ),
      "done",
    );
    const result = await graph.invoke(user("hi"), inThread("1"));
    expect(pairedScript(result)).toEqual([
      "human: hi",
      "ai> write write",
      "tool: first",
      "tool: (no output)",
      "ai: done",
    ]);
    expect(result).toMatchObject({ plan: "two", log: ["start", "b", "c"] });
  });

  it("are not written with a value that does not match, and the model reads why", async () => {
    const probe = createProbe();
    const graph = createAgentGraph({
      model: scripted(
        calls(
          ["write", { update: { plan: 7, count: 8 }, says: "saved" }],
          ["write", { update: { plna: "x", turn: {} } }],
          ["fast", { label: "1" }],
        ),
        "done",
      ),
      tools: [write, probe.fast],
      stateSchema,
    });
    const result = await graph.invoke(user("hi"));
    expect(pairedScript(result).slice(2)).toEqual([
      "tool! Error: `plan` was not written. Expected `plan` to match `stateSchema`: Invalid input: expected string, received number.\n\nsaved",
      "tool! Error: `plna` was not written, because the state has no such key. Its keys are: `messages`, `plan`, `count`, `log`. `turn` was not written, because the state has no such key. Its keys are: `messages`, `plan`, `count`, `log`.",
      "tool: fast done 1",
      "ai: done",
    ]);
    expect(result).toMatchObject({ count: 8 });
    expect(result).not.toHaveProperty("plan");
  });

  it("are written by `updateState` and by a command, and checked there", async () => {
    const graph = agent("done");
    await graph.updateState(inThread("1"), { plan: "set" });
    await graph.updateState(inThread("1"), { log: new Overwrite(["new"]) });
    await graph.invoke(new Command({ update: { count: 9 } }), inThread("1"));
    const result = await graph.invoke(new Command({ goto: "model", update: user("hi") }), inThread("1"));
    expect(result).toMatchObject({ plan: "set", count: 9, log: ["new"] });
    const refusal = { name: "InvalidStateError", code: "INVALID_STATE", key: "plan" };
    await expect(graph.updateState(inThread("1"), { plan: 7 })).rejects.toMatchObject(refusal);
    // @ts-expect-error A number is no plan.
    await expect(graph.invoke({ ...user("hi"), plan: 7 }, inThread("1"))).rejects.toMatchObject({
      ...refusal,
      message: "Expected `plan` to match `stateSchema`: Invalid input: expected string, received number.",
    });
    // @ts-expect-error A number is no plan.
    const command = graph.invoke(new Command({ update: { plan: 7 } }), inThread("1"));
    await expect(command).rejects.toMatchObject(refusal);
    const { values } = await graph.getState(inThread("1"));
    expect(values).toMatchObject({ plan: "set", count: 9, log: ["new"] });
  });

  it("are in the streams", async () => {
    const graph = agent(calls(["write", { update: { plan: "go" } }]), "done");
    const chunks: unknown[] = [];
    for await (const chunk of await graph.stream(user("hi"), {
      streamMode: ["values", "updates"],
      ...inThread("1"),
    }))
      chunks.push(chunk);
    expect(chunks).toContainEqual(["values", expect.objectContaining({ plan: "go" })]);
    expect(chunks).toContainEqual(["updates", { tools: expect.objectContaining({ plan: "go" }) }]);
  });
});

describe("a command that cannot be read", () => {
  const broken = (update: unknown) =>
    tool(() => new Command({ update: update as never }), {
      name: "broken",
      description: "broken",
      schema: z.object({}),
    });
  const throwing = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error("no keys");
      },
    },
  );

  it.each([
    ["a text", "plan", "Error: Nothing was written, because the update is not an object."],
    ["an object that throws", throwing, "Error: `broken` failed."],
  ])("is an error result, and its siblings keep theirs: %s", async (_, update, text) => {
    const { fast } = createProbe();
    const graph = createAgentGraph({
      model: scripted(calls(["broken"], ["fast", { label: "1" }]), "done"),
      tools: [broken(update), fast],
    });
    const lines = pairedScript(await graph.invoke(user("hi")));
    expect(lines.slice(2)).toEqual([`tool! ${text}`, "tool: fast done 1", "ai: done"]);
  });
});
