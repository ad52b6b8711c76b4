/** Own keys of the state: who reads and writes them, and what is refused. */

import { ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import {
  Command,
  MemorySaver,
  MessagesAnnotation,
  Overwrite,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraph,
  agentMiddleware,
  createAgentGraph,
  PairedMessagesValue,
} from "../../../src/index.js";
import { allOf } from "../../support/all-of.js";
import { makeTool } from "../../support/make-tool.js";
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
const write = makeTool(
  "write",
  ({ update, says }, { toolCallId }: ToolRuntime) =>
    new Command({
      update: {
        ...update,
        ...(says !== undefined && {
          messages: [new ToolMessage({ content: says, tool_call_id: toolCallId })],
        }),
      },
    }),
  z.object({ update: z.record(z.string(), z.any()), says: z.string().optional() }),
);

const look = makeTool("look", (_, { state }: ToolRuntime) => {
  const { messages: _messages, ...own } = state as Record<string, unknown>;
  return JSON.stringify(own);
});

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
    const chunks = await allOf(
      graph.stream(user("hi"), {
        streamMode: ["values", "updates"],
        ...inThread("1"),
      }),
    );
    expect(chunks).toContainEqual(["values", expect.objectContaining({ plan: "go" })]);
    expect(chunks).toContainEqual(["updates", { tools: expect.objectContaining({ plan: "go" }) }]);
  });
});

describe("a command that cannot be read", () => {
  const broken = (update: unknown) => makeTool("broken", () => new Command({ update: update as never }));
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

// Own keys of the state that an agent shares with a parent graph, with a hand-off, or with approvals.

const own = { plan: z.string().optional(), count: z.number().default(0) };

const note = makeTool(
  "note",
  ({ plan }, { state }) =>
    new Command({ update: { plan: `${Reflect.get(Object(state), "plan") ?? "none"}, ${plan}` } }),
  z.object({ plan: z.string() }),
);

const toParent = makeTool(
  "to_parent",
  (_, { toolCallId }: ToolRuntime) =>
    new Command({
      graph: Command.PARENT,
      goto: "end",
      update: { verdict: "done", messages: [new ToolMessage({ content: "over", tool_call_id: toolCallId })] },
    }),
);

const agent = (...steps: readonly Step[]) =>
  createAgentGraph({ model: scripted(...steps), tools: [note, toParent], stateSchema: z.object(own) });

const parentOf = (child: ReturnType<typeof agent>) =>
  new StateGraph(
    new StateSchema({
      messages: PairedMessagesValue,
      verdict: z.string().optional(),
      ...own,
      other: z.any(),
    }),
  )
    .addNode("child", child as never, { ends: ["end"] })
    .addNode("end", () => ({}))
    .addEdge(START, "child")
    .compile({ checkpointer: new MemorySaver() });

describe("an agent in a graph with the same keys", () => {
  it("gets their values, and returns those that its tools wrote", async () => {
    const parent = parentOf(agent(calls(["note", { plan: "b" }]), "done"));
    const result = await parent.invoke(
      { ...user("hi"), plan: "a", count: 3, other: 1 } as never,
      inThread("1"),
    );
    expect(result).toMatchObject({ plan: "a, b", count: 3, other: 1 });
  });

  it("refuses a value of the parent that does not match", async () => {
    const parent = new StateGraph(new StateSchema({ messages: PairedMessagesValue, plan: z.any() }))
      .addNode("child", agent() as never)
      .addEdge(START, "child")
      .compile();
    await expect(parent.invoke({ ...user("hi"), plan: 7 } as never)).rejects.toThrow(
      "Expected `plan` to match `stateSchema`",
    );
  });

  it("can hand off with keys that only the parent has", async () => {
    const parent = parentOf(agent(calls(["to_parent"])));
    expect(await parent.invoke(user("hi") as never, inThread("1"))).toMatchObject({ verdict: "done" });
  });
});

it("Two tools of a batch can replace the same key", async () => {
  const replace = makeTool(
    "replace",
    ({ list }) => new Command({ update: { list: new Overwrite(list) } }),
    z.object({ list: z.array(z.string()) }),
  );
  const list = z.array(z.string()).default(() => ["start"]);
  const replacing = createAgentGraph({
    model: scripted(calls(["replace", { list: ["a"] }], ["replace", { list: ["b"] }]), "done"),
    tools: [replace],
    stateSchema: new StateSchema({
      list: new ReducedValue(list, { reducer: (left, right) => [...left, ...right] }),
    }),
  });
  expect(await replacing.invoke(user("hi"))).toMatchObject({ list: ["b"] });
});

it("A call that was approved reads and writes them like any other", async () => {
  const asking = createAgentGraph({
    model: scripted(calls(["note", { plan: "b" }], ["note", { plan: "c" }]), "done"),
    tools: [note],
    stateSchema: z.object(own),
    requireApproval: ["note"],
    checkpointer: new MemorySaver(),
  });
  await asking.invoke({ ...user("hi"), plan: "a" }, inThread("1"));
  const resume = { decisions: [{ type: "approve" }, { type: "reject" }] };
  // A command can write own keys and decide at once.
  const result = await asking.invoke(new Command({ resume, update: { count: 5 } }), inThread("1"));
  expect(result).toMatchObject({ plan: "a, b", count: 5 });
  expect(pairedScript(result).slice(2)).toEqual([
    "tool: (no output)",
    "tool! Error: `note` was not approved, so it was not run.",
    "ai: done",
  ]);
});

it("They are kept if an agent middleware answers instead of the graph", async () => {
  const agent = createAgentGraph({
    model: scripted(calls(["note", { plan: "b" }])),
    tools: [note],
    stateSchema: z.object(own),
    requireApproval: ["note"],
    checkpointer: new MemorySaver(),
  });
  const middleware = [
    agentMiddleware(async (context) => {
      context.result = "later";
    }),
  ];
  await agent.invoke(user("hi"), inThread("1"));
  const resume = { decisions: [{ type: "approve" }] };
  const options = { ...inThread("1"), middleware };
  const answered = await agent.invoke(new Command({ resume, update: { plan: "a" } }), options);
  expect(answered).toMatchObject({ plan: "a", count: 0 });
  expect(pairedScript(answered).at(-1)).toBe("ai: later");
  expect(await agent.invoke({ ...user("and?"), count: 4 }, options)).toMatchObject({ plan: "a", count: 4 });
});

// Own keys of a run's `context`, and what of a parent's context the tools of a subgraph see.

const whoami = makeTool("whoami", (_, { context }: ToolRuntime) => JSON.stringify(context));

const contextSchema = z.object({ userId: z.string(), locale: z.string().default("en") });
const resultIn = (values: unknown) => pairedScript(values).find((line) => line.startsWith("tool"));
const once = () => scripted(calls(["whoami"]), "done");

describe("the own keys of a context", () => {
  it("reach the tools with their defaults, beside the settings of the run", async () => {
    const agent = createAgentGraph({ model: once(), tools: [whoami], contextSchema });
    const result = await agent.invoke(user("hi"), { context: { userId: "u1", maxIterations: 3 } });
    expect(resultIn(result)).toBe('tool: {"userId":"u1","locale":"en","maxIterations":3}');
  });

  it("are not among the options that an agent middleware can replace", async () => {
    const options: unknown[] = [];
    const middleware = agentMiddleware(async (context, next) => {
      options.push({ ...context.options });
      context.options = {};
      await next();
    });
    const agent = createAgentGraph({
      model: once(),
      tools: [whoami],
      contextSchema,
      middleware: [middleware],
    });
    const result = await agent.invoke(user("hi"), { context: { userId: "u1", maxIterations: 3 } });
    expect(options).toEqual([{ maxIterations: 3 }]);
    expect(resultIn(result)).toBe('tool: {"userId":"u1","locale":"en"}');
  });

  it.each([
    [
      { userId: 7 },
      "Expected `context.userId` to match `contextSchema`: Invalid input: expected string, received number.",
    ],
    [
      undefined,
      "Expected `context.userId` to match `contextSchema`: Invalid input: expected string, received undefined.",
    ],
    [{ userId: "u1", usrId: "u2" }, "Unknown setting `usrId`. Did you mean `userId`?"],
    [
      { userId: "u1", maxIterations: "3" },
      'Expected `maxIterations` to be an integer of 1 or more, got `"3"`.',
    ],
  ])("are refused before the run begins: %j", async (context, message) => {
    const agent = createAgentGraph({ model: "offline:", contextSchema });
    await expect(agent.invoke(user("hi"), { context: context as never })).rejects.toMatchObject({
      code: "INVALID_SETTING",
      message,
    });
  });

  it("must not be settings of a run", () => {
    const clash = z.object({ maxIterations: z.number() });
    expect(() => createAgentGraph({ model: "offline:", contextSchema: clash })).toThrow(
      "Expected `contextSchema` to have keys of its own, got `maxIterations`, which is a setting of a run.",
    );
  });
});

it("an unknown key is refused without a `contextSchema`", async () => {
  const agent = createAgentGraph({ model: "offline:" });
  const run = agent.invoke(user("hi"), { context: { userId: "u1" } as never });
  await expect(run).rejects.toThrow(/^Unknown setting `userId`/);
});

describe("the context of a parent graph", () => {
  const parentOf = (child: AgentGraph) =>
    new StateGraph(
      MessagesAnnotation,
      z.object({ userId: z.any(), tenant: z.any(), maxIterations: z.any() }).partial(),
    )
      .addNode("child", child)
      .addEdge(START, "child")
      .compile();

  it("reaches the tools whole", async () => {
    const parent = parentOf(createAgentGraph({ model: once(), tools: [whoami] }));
    const result = await parent.invoke(user("hi"), { context: { userId: "u1", tenant: { id: 1 } } as never });
    expect(resultIn(result)).toBe('tool: {"userId":"u1","tenant":{"id":1}}');
  });

  it("is checked by the schema of the agent, which adds its defaults", async () => {
    const child = createAgentGraph({ model: once(), tools: [whoami], contextSchema });
    const context = { userId: "u1", tenant: "t" };
    const result = await parentOf(child as never).invoke(user("hi"), { context: context as never });
    expect(JSON.parse(resultIn(result)?.slice(6) ?? "")).toEqual({ ...context, locale: "en" });
    const refused = createAgentGraph({ model: "offline:", contextSchema });
    await expect(
      parentOf(refused as never).invoke(user("hi"), { context: { userId: 7 } as never }),
    ).rejects.toThrow("Expected `context.userId` to match `contextSchema`");
  });

  it("keeps its settings only as far as an agent middleware keeps them", async () => {
    const child = createAgentGraph({
      model: once(),
      tools: [whoami],
      middleware: [
        agentMiddleware(async (context, next) => {
          context.options = {};
          await next();
        }),
      ],
    });
    const result = await parentOf(child).invoke(user("hi"), {
      context: { userId: "u1", maxIterations: 3 } as never,
    });
    expect(resultIn(result)).toBe('tool: {"userId":"u1"}');
  });
});
