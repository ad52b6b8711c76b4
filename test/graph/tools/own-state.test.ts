/** Own keys of the state and of a run's context: who reads and writes them, and what is refused. */

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
  type AgentGraphOptions,
  createAgentGraph,
  PairedMessagesValue,
} from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { beforeNext, insteadOfNext, set } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import type { Step } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const concat = (left: string[], right: string[]) => [...left, ...right];
const texts = z.array(z.string());

/** The same three keys, in each form that `stateSchema` takes. */
const SCHEMAS = {
  "a zod object": z.object({
    plan: z.string().optional(),
    count: z.number().default(7),
    log: withLangGraph(texts, { reducer: { fn: concat, schema: texts }, default: () => ["start"] }),
  }),
  "a StateSchema": new StateSchema({
    plan: z.string().optional(),
    count: z.number().default(7),
    log: new ReducedValue(
      texts.default(() => ["start"]),
      { inputSchema: texts, reducer: concat },
    ),
  }),
};

/** A tool that writes what the model says, and a result of its own if it has a text. */
const write = makeTool(
  "write",
  ({ update, says }, { toolCallId }: ToolRuntime) => {
    const messages = [new ToolMessage({ content: says ?? "", tool_call_id: toolCallId })];
    return new Command({ update: { ...update, ...(says !== undefined && { messages }) } });
  },
  z.object({ update: z.record(z.string(), z.any()), says: z.string().optional() }),
);

const look = makeTool("look", (_, { state }: ToolRuntime) => {
  const { messages: _messages, ...own } = state as Record<string, unknown>;
  return JSON.stringify(own);
});

const NO_PLAN = "Expected `plan` to match `stateSchema`: Invalid input: expected string, received number";

describe.each(Object.entries(SCHEMAS))("own keys, from %s", (_form, stateSchema) => {
  const thread = (...steps: readonly Step[]) =>
    agentThread(steps, { tools: [write, look, createProbe().fast], stateSchema } as never);

  it("are read by tools, with their defaults, and are in the result and the state", async () => {
    const { invoke, lines, state } = thread(calls(["look"]), "done");
    expect(await invoke()).toMatchObject({ count: 7, log: ["start"] });
    expect((await lines())[2]).toBe('tool: {"count":7,"log":["start"]}');
    expect((await state()).values).toMatchObject({ count: 7, log: ["start"] });
  });

  it("are taken from the input, and kept in the thread", async () => {
    const { invoke, run } = thread(calls(["look"]), "done", calls(["look"]), "again");
    await invoke({ ...user("hi"), plan: "go", log: ["a"] });
    const seen = 'tool: {"plan":"go","count":7,"log":["start","a"]}';
    expect((await run("more")).filter((line) => line.startsWith("tool"))).toEqual([seen, seen]);
  });

  it("are written by the command of a tool, the last call of a batch last", async () => {
    const first = { update: { plan: "one", log: ["b"] }, says: "first" };
    const second = { update: { plan: "two", log: ["c"] } };
    const { invoke, lines } = thread(calls(["write", first], ["write", second]), "done");
    expect(await invoke()).toMatchObject({ plan: "two", log: ["start", "b", "c"] });
    expect((await lines()).slice(1)).toEqual([
      "ai> write write",
      "tool: first",
      "tool: (no output)",
      "ai: done",
    ]);
  });

  it("are not written with a value that does not match, and the model reads why", async () => {
    const wrong = { update: { plan: 7, count: 8 }, says: "saved" };
    const unknown = { update: { plna: "x", turn: {} } };
    const batch = calls(["write", wrong], ["write", unknown], ["fast", { label: "1" }]);
    const { invoke, lines } = thread(batch, "done");
    const result = await invoke();
    const KEYS = "because the state has no such key. Its keys are: `messages`, `plan`, `count`, `log`.";
    expect((await lines()).slice(2)).toEqual([
      `tool! Error: \`plan\` was not written. ${NO_PLAN}.\n\nsaved`,
      `tool! Error: \`plna\` was not written, ${KEYS} \`turn\` was not written, ${KEYS}`,
      "tool: fast done 1",
      "ai: done",
    ]);
    expect(result).toMatchObject({ count: 8 });
    expect(result).not.toHaveProperty("plan");
  });

  it("are written by `updateState` and by a command, and checked there", async () => {
    const { graph, config, invoke, state } = thread("done");
    await graph.updateState(config, { plan: "set" } as never);
    await graph.updateState(config, { log: new Overwrite(["new"]) } as never);
    await invoke(new Command({ update: { count: 9 } }));
    const result = await invoke(new Command({ goto: "model", update: user("hi") }));
    expect(result).toMatchObject({ plan: "set", count: 9, log: ["new"] });
    const refusal = { name: "InvalidStateError", code: "INVALID_STATE", key: "plan", message: `${NO_PLAN}.` };
    await expect(graph.updateState(config, { plan: 7 } as never)).rejects.toMatchObject(refusal);
    await expect(invoke({ ...user("hi"), plan: 7 })).rejects.toMatchObject(refusal);
    await expect(invoke(new Command({ update: { plan: 7 } }))).rejects.toMatchObject(refusal);
    expect((await state()).values).toMatchObject({ plan: "set", count: 9, log: ["new"] });
  });

  it("are in the streams", async () => {
    const { graph, config } = thread(calls(["write", { update: { plan: "go" } }]), "done");
    const chunks = await allOf(graph.stream(user("hi"), { ...config, streamMode: ["values", "updates"] }));
    expect(chunks).toContainEqual(["values", expect.objectContaining({ plan: "go" })]);
    expect(chunks).toContainEqual(["updates", { tools: expect.objectContaining({ plan: "go" }) }]);
  });
});

const unreadable = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error("no keys");
    },
  },
);

it.each([
  ["a text", "plan", "Error: Nothing was written, because the update is not an object."],
  ["an object that throws", unreadable, "Error: `broken` failed."],
])("A command with %s is an error result, and its siblings keep theirs", async (_, update, text) => {
  const broken = makeTool("broken", () => new Command({ update: update as never }));
  const tools = [broken, createProbe().fast];
  const { run } = agentThread([calls(["broken"], ["fast", { label: "1" }]), "done"], { tools });
  expect((await run()).slice(2)).toEqual([`tool! ${text}`, "tool: fast done 1", "ai: done"]);
});

// Own keys of the state that an agent shares with a parent graph, with a hand-off, or with approvals.

const own = { plan: z.string().optional(), count: z.number().default(0) };

const note = makeTool(
  "note",
  ({ plan }, { state }) =>
    new Command({ update: { plan: `${Reflect.get(Object(state), "plan") ?? "none"}, ${plan}` } }),
  z.object({ plan: z.string() }),
);

const toParent = makeTool("to_parent", (_, { toolCallId }: ToolRuntime) => {
  const messages = [new ToolMessage({ content: "over", tool_call_id: toolCallId })];
  return new Command({ graph: Command.PARENT, goto: "end", update: { verdict: "done", messages } });
});

const noting = (steps: readonly Step[], options: Partial<AgentGraphOptions> = {}) =>
  agentThread(steps, { tools: [note, toParent], stateSchema: z.object(own), ...options });

describe("an agent in a graph with the same keys", () => {
  const STATE = { messages: PairedMessagesValue, verdict: z.string().optional(), ...own, other: z.any() };
  const parentOf = (steps: readonly Step[], fields: object = STATE) => {
    const { graph: child } = noting(steps, { checkpointer: undefined });
    const graph = new StateGraph(new StateSchema(fields as typeof STATE))
      .addNode("child", child as never, { ends: ["end"] })
      .addNode("end", () => ({}))
      .addEdge(START, "child")
      .compile({ checkpointer: new MemorySaver() });
    return (more: object = {}) => graph.invoke({ ...user("hi"), ...more } as never, inThread("1"));
  };

  it("gets their values, and returns those that its tools wrote", async () => {
    const run = parentOf([calls(["note", { plan: "b" }]), "done"]);
    expect(await run({ plan: "a", count: 3, other: 1 })).toMatchObject({ plan: "a, b", count: 3, other: 1 });
  });

  it("refuses a value of the parent that does not match", async () => {
    await expect(parentOf([], { ...STATE, plan: z.any() })({ plan: 7 })).rejects.toThrow(NO_PLAN);
  });

  it("can hand off with keys that only the parent has", async () => {
    expect(await parentOf([calls(["to_parent"])])()).toMatchObject({ verdict: "done" });
  });
});

it("Two tools of a batch can replace the same key", async () => {
  const replace = (list: string[]) => ["write", { update: { log: new Overwrite(list) } }] as const;
  const { invoke } = agentThread([calls(replace(["a"]), replace(["b"])), "done"], {
    tools: [write],
    stateSchema: SCHEMAS["a StateSchema"],
  });
  expect(await invoke()).toMatchObject({ log: ["b"] });
});

it("A call that was approved reads and writes them like any other", async () => {
  const batch = calls(["note", { plan: "b" }], ["note", { plan: "c" }]);
  const { invoke, lines } = noting([batch, "done"], { requireApproval: ["note"] });
  await invoke({ ...user("hi"), plan: "a" });
  const resume = { decisions: [{ type: "approve" }, { type: "reject" }] };
  // A command can write own keys and decide at once.
  const result = await invoke(new Command({ resume, update: { count: 5 } }));
  expect(result).toMatchObject({ plan: "a, b", count: 5 });
  expect((await lines()).slice(2)).toEqual([
    "tool: (no output)",
    "tool! Error: `note` was not approved, so it was not run.",
    "ai: done",
  ]);
});

it("They are kept if an agent middleware answers instead of the graph", async () => {
  const { invoke, lines } = noting([calls(["note", { plan: "b" }])], { requireApproval: ["note"] });
  const options = { middleware: [insteadOfNext("agent", set({ result: "later" }))] };
  await invoke();
  const resume = { decisions: [{ type: "approve" }] };
  const answered = await invoke(new Command({ resume, update: { plan: "a" } }), options);
  expect(answered).toMatchObject({ plan: "a", count: 0 });
  expect((await lines()).at(-1)).toBe("ai: later");
  expect(await invoke({ ...user("and?"), count: 4 }, options)).toMatchObject({ plan: "a", count: 4 });
});

// Own keys of a run's `context`, and what of a parent's context the tools of a subgraph see.

const whoami = makeTool("whoami", (_, { context }: ToolRuntime) => JSON.stringify(context));
const contextSchema = z.object({ userId: z.string(), locale: z.string().default("en") });
const clearing = beforeNext("agent", set({ options: {} }));

const knowing = (options: Partial<AgentGraphOptions> = {}) =>
  agentThread([calls(["whoami"]), "done"], { tools: [whoami], ...options });
/** What the tool saw. */
const seenIn = (values: unknown) => JSON.parse(pairedScript(values)[2]?.slice("tool: ".length) ?? "");

describe("the own keys of a context", () => {
  const context = { userId: "u1", maxIterations: 3 };

  it("reach the tools with their defaults, beside the settings of the run", async () => {
    const result = await knowing({ contextSchema }).invoke("hi", { context });
    expect(seenIn(result)).toEqual({ userId: "u1", locale: "en", maxIterations: 3 });
  });

  it("are not among the options that an agent middleware can replace", async () => {
    const options: unknown[] = [];
    const watch = beforeNext("agent", (given) => options.push({ ...given.options }));
    const { invoke } = knowing({ contextSchema, middleware: [watch, clearing] });
    expect(seenIn(await invoke("hi", { context }))).toEqual({ userId: "u1", locale: "en" });
    expect(options).toEqual([{ maxIterations: 3 }]);
  });

  const NO_ID =
    "Expected `context.userId` to match `contextSchema`: Invalid input: expected string, received";
  it.each<[context: unknown, message: string]>([
    [{ userId: 7 }, `${NO_ID} number.`],
    [undefined, `${NO_ID} undefined.`],
    [{ userId: "u1", usrId: "u2" }, "Unknown setting `usrId`. Did you mean `userId`?"],
    [
      { userId: "u1", maxIterations: "3" },
      'Expected `maxIterations` to be an integer of 1 or more, got `"3"`.',
    ],
  ])("are refused before the run begins: %j", async (given, message) => {
    const run = agentThread([], { contextSchema }).invoke("hi", { context: given });
    await expect(run).rejects.toMatchObject({ code: "INVALID_SETTING", message });
  });

  it("are refused without a `contextSchema`", async () => {
    const run = agentThread([]).invoke("hi", { context: { userId: "u1" } });
    await expect(run).rejects.toThrow(/^Unknown setting `userId`/);
  });

  it("must not be settings of a run", () => {
    const clash = z.object({ maxIterations: z.number() });
    expect(() => createAgentGraph({ model: "offline:", contextSchema: clash })).toThrow(
      "Expected `contextSchema` to have keys of its own, got `maxIterations`, which is a setting of a run.",
    );
  });
});

describe("the context of a parent graph", () => {
  const run = (child: AgentGraph, context: object) =>
    new StateGraph(
      MessagesAnnotation,
      z.object({ userId: z.any(), tenant: z.any(), maxIterations: z.any() }).partial(),
    )
      .addNode("child", child)
      .addEdge(START, "child")
      .compile()
      .invoke(user("hi"), { context: context as never });
  const child = (options: Partial<AgentGraphOptions> = {}) =>
    knowing({ checkpointer: undefined, ...options }).graph;

  it.each<[title: string, options: Partial<AgentGraphOptions>, context: object, seen: object]>([
    ["reaches the tools whole", {}, { userId: "u1", tenant: { id: 1 } }, { userId: "u1", tenant: { id: 1 } }],
    [
      "is checked by the schema of the agent, which adds its defaults",
      { contextSchema },
      { userId: "u1", tenant: "t" },
      { userId: "u1", tenant: "t", locale: "en" },
    ],
    [
      "keeps its settings only as far as an agent middleware keeps them",
      { middleware: [clearing] },
      { userId: "u1", maxIterations: 3 },
      { userId: "u1" },
    ],
  ])("%s", async (_title, options, context, seen) => {
    expect(seenIn(await run(child(options), context))).toEqual(seen);
  });

  it("is refused if the schema of the agent refuses it", async () => {
    const { graph } = agentThread([], { contextSchema });
    const says = "Expected `context.userId` to match `contextSchema`";
    await expect(run(graph, { userId: 7 })).rejects.toThrow(says);
  });
});
