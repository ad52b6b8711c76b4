import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { getContextVariable, setContextVariable } from "@langchain/core/context";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { Command, MemorySaver, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { expect, it } from "vitest";
import { z } from "zod";
import { route } from "../../src/langgraph/route.js";
import { runDirectly } from "../../src/langgraph/run-directly.js";
import { WrappableGraph } from "../../src/langgraph/wrappable-graph.js";

const list = withLangGraph(z.array(z.string()), {
  reducer: { schema: z.array(z.string()), fn: (before: string[], after: string[]) => [...before, ...after] },
  default: () => [],
});

/** A graph with each kind of write: an update, a command, a task, a plain edge and a route. */
function draw(log: string[] = []) {
  return new StateGraph(z.object({ list, count: z.number().optional() }))
    .addNode("first", () => new Command({ update: { list: ["first"] }, goto: [new Send("task", {})] }), {
      ends: ["task"],
    })
    .addNode("task", () => ({ list: ["task"] }))
    .addNode("last", () => [new Command({ update: { list: ["last"] } }), { list: ["more"] }])
    .addConditionalEdges(
      START,
      route(async (state: { list: string[] }) => {
        log.push(`route after ${state.list.join(" ")}`);
        return "first" as const;
      }),
      ["first"],
    )
    .addEdge("task", "last");
}

class Graph extends WrappableGraph<never, never, never, unknown, unknown> {
  protected override wrapRun(received: unknown, options: object) {
    return this.runUnwrapped(received, options as never);
  }
}

type Compiled = ReturnType<ReturnType<typeof draw>["compile"]>;

/** As `createAgentGraph` makes it: another graph from the fields of the compiled one. */
const direct = (compiled: Compiled) =>
  new Graph(runDirectly(compiled) as never) as unknown as typeof compiled;

const ways: readonly (readonly [string, (compiled: Compiled) => Compiled])[] = [
  ["LangGraph", (compiled) => compiled],
  ["one step", direct],
];

const input = { list: ["input"] };

it("A graph whose nodes write directly has the same steps, states and checkpoints", async () => {
  const runs = [];
  for (const [, make] of ways) {
    const log: string[] = [];
    const graph = make(draw(log).compile({ checkpointer: new MemorySaver() }));
    const thread = { configurable: { thread_id: "one" } };
    const updates: unknown[] = [];
    for await (const chunk of await graph.stream(input, { ...thread, streamMode: "updates" }))
      updates.push(chunk);
    await graph.updateState(thread, { list: ["edited"] }, "last");
    const history: unknown[] = [];
    for await (const { values, next, metadata } of graph.getStateHistory(thread))
      history.push({ values, next, step: metadata?.step });
    runs.push({ log, updates, history });
  }
  expect(runs[1]).toEqual(runs[0]);
  expect(runs[0]?.history).toHaveLength(6);
});

/** Runs one node, and returns what `look` found in it. */
async function lookInside<Found>(
  make: (compiled: Compiled) => Compiled,
  look: () => Found,
  options: object = {},
): Promise<Found | undefined> {
  let found: Found | undefined;
  const compiled = new StateGraph(MessagesAnnotation)
    .addNode("look", async () => {
      await Promise.resolve();
      found = look();
      return {};
    })
    .addEdge(START, "look")
    .compile();
  await make(compiled as never).invoke({ messages: "hi" } as never, options);
  return found;
}

it.each(ways)("A node that %s runs sees its config and the variables of its caller", async (_, make) => {
  const context = AsyncLocalStorageProviderSingleton.getInstance();
  const look = () => ({
    node: AsyncLocalStorageProviderSingleton.getRunnableConfig()?.metadata["langgraph_node"],
    variable: getContextVariable("who"),
  });
  const found = await context.run({} as never, async () => {
    setContextVariable("who", "the caller");
    return lookInside(make, look);
  });
  expect(found).toEqual({ node: "look", variable: "the caller" });
});

const REASONS = [new Error("stop"), "stop", { stop: true }, undefined];

it.each(ways.flatMap(([name, make]) => REASONS.map((reason) => [name, reason, make] as const)))(
  "A run of %s ends when it is aborted with %o, and its node gets the signal",
  async (_, reason, make) => {
    const caller = new AbortController();
    let isAborted = () => false;
    const compiled = new StateGraph(MessagesAnnotation)
      .addNode("wait", async (_state, { signal }) => {
        isAborted = () => signal?.aborted === true;
        caller.abort(reason);
        return new Promise<never>(() => {});
      })
      .addEdge(START, "wait")
      .compile();
    const run = make(compiled as never).invoke({ messages: "hi" } as never, { signal: caller.signal });
    await expect(run).rejects.toThrow(reason === undefined ? "aborted" : /stop|Abort/);
    expect(isAborted()).toBe(true);
  },
);

it.each(ways)("The events of a node that %s runs are those of its sequence", async (_, make) => {
  const names: string[] = [];
  const compiled = draw().compile();
  for await (const { event, name } of make(compiled).streamEvents(input, { version: "v2" }))
    names.push(`${event} ${name}`);
  const steps = [START, "first", "task", "last"];
  for (const step of steps) {
    expect(names.filter((name) => name === `on_chain_start ${step}`)).toHaveLength(1);
    expect(names.filter((name) => name === `on_chain_end ${step}`)).toHaveLength(1);
  }
});

it.each(ways)("A node that %s runs is part of the trace of LangSmith", async (_, make) => {
  class Tracer extends BaseCallbackHandler {
    name = "langchain_tracer";
    getRunTreeWithTracingConfig = (id: string) => ({ id, isTraced: true });
  }
  const look = (): unknown => AsyncLocalStorageProviderSingleton.getInstance().getStore();
  const found = await lookInside(make, look, { callbacks: [new Tracer()] });
  expect(found).toMatchObject({ isTraced: true });
});

it.each(ways)("A command to no node is refused by %s", async (_, make) => {
  for (const goto of [[null], [undefined], [""]]) {
    const compiled = new StateGraph(MessagesAnnotation)
      .addNode("lead", () => new Command({ goto: goto as never }), { ends: [] })
      .addEdge(START, "lead")
      .compile();
    const run = make(compiled as never).invoke({ messages: "hi" } as never);
    await expect(run).rejects.toThrow("unknown or null destination");
  }
});

it("LangGraph still has the parts that are left out", () => {
  const { nodes, builder } = draw().compile() as unknown as {
    nodes: Record<string, { bound: object; writers: Record<string, unknown>[] }>;
    builder: object;
  };
  expect(nodes["first"]?.bound).toMatchObject({ trace: false, func: expect.any(Function) });
  for (const { writers } of Object.values(nodes)) {
    expect(writers.map(({ trace }) => trace)).toEqual(writers.map(() => false));
    expect(writers.find(({ name }) => name === "<branch_run>")).toBe(writers[1]);
    expect(writers[0]).toHaveProperty("writes.0.mapper.func");
  }
  expect(builder).toHaveProperty("_schemaRuntimeDefinition");
  const fields = runDirectly(draw().compile());
  for (const { writers } of Object.values(fields.nodes)) expect(writers).toHaveLength(1);
});

it("What nodes write is not checked by the schema, and the schema is still there for clients", async () => {
  const compiled = new StateGraph(z.object({ count: z.number() }))
    .addNode("write", () => ({ count: "one" as never }))
    .addEdge(START, "write")
    .compile();
  const { _schemaRuntimeDefinition: schema } = compiled.builder as unknown as Record<string, unknown>;
  const graph = direct(compiled as never);
  await expect(graph.invoke({ count: 1 } as never)).resolves.toEqual({ count: "one" });
  expect(graph.builder).toHaveProperty("_schemaRuntimeDefinition", schema);
});

it("A command for a parent graph reaches it", async () => {
  const child = new StateGraph(MessagesAnnotation)
    .addNode("leave", () => new Command({ graph: Command.PARENT, goto: "there" }), { ends: [] })
    .addEdge(START, "leave")
    .compile();
  const visited: string[] = [];
  const parent = new StateGraph(MessagesAnnotation)
    .addNode("child", direct(child as never) as never, { ends: ["there"] })
    .addNode("there", () => {
      visited.push("there");
      return {};
    })
    .addEdge(START, "child")
    .compile();
  await parent.invoke({ messages: "hi" });
  expect(visited).toEqual(["there"]);
});
