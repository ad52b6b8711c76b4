/** An agent that is a node of another graph, and what its ended runs left there. */

import { ToolMessage } from "@langchain/core/messages";
import { Command, MemorySaver, Send, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { createAgentGraph, PairedMessagesValue } from "langgraph-tether";
import { tetherMiddleware, tetherState } from "langgraph-tether/langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { turns } from "../support/async.js";
import { DURABILITIES } from "../support/crashing-thread.js";
import { deferred } from "../support/deferred.js";
import { lines } from "../support/lines.js";
import { type Answer, calls, FunctionModel } from "../support/models.js";
import type { AnyAgent } from "../support/open-thread.js";
import { type ScriptedModel, type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

/** How the agent is in the graph. */
const WAYS = {
  "a node": (agent: AnyAgent) => agent.graph,
  "a node with its own memory": (agent: AnyAgent) => agent.graph,
  "invoked by a node": (agent: AnyAgent) => (state: object, config: object) =>
    agent.invoke(state as never, config),
  "a node that `Send` starts": (agent: AnyAgent) => agent.graph,
  "a node of a graph in a node": (agent: AnyAgent) => around(agent.graph),
  "a node of a graph two nodes deep": (agent: AnyAgent) => around(around(agent.graph)),
};

const around = (graph: object, checkpointer?: MemorySaver) =>
  new StateGraph(State)
    .addNode("inner", graph as never)
    .addEdge(START, "inner")
    .compile(checkpointer && { checkpointer });

type Way = keyof typeof WAYS;

const note = z.string().default("none");
const State = new StateSchema({ messages: PairedMessagesValue, note });

/** A tool that writes a key beside its result. */
const noting = makeTool("noting", async (_, { toolCall }) => {
  const messages = [new ToolMessage({ content: "noting done", tool_call_id: toolCall?.id ?? "" })];
  return new Command({ update: { note: "noted", messages } });
});

const open = (way: Way, ...steps: Step[]) => openWith(way, scripted(...steps));

function openWith<Model extends ScriptedModel | FunctionModel>(way: Way, model: Model) {
  const probe = createProbe();
  const agent = createAgent({
    model,
    tools: [probe.fast, probe.heedful, noting],
    stateSchema: new StateSchema({ ...tetherState().fields, note }),
    middleware: [tetherMiddleware()],
    ...(way === "a node with its own memory" && { checkpointer: true }),
  } as never) as unknown as AnyAgent;
  const builder = new StateGraph(State).addNode("agent", WAYS[way](agent) as never);
  if (way === "a node that `Send` starts")
    builder.addConditionalEdges(START, (state) => new Send("agent", state), ["agent"]);
  else builder.addEdge(START, "agent");
  const graph = builder.compile({ checkpointer: new MemorySaver() });
  return { probe, model, graph, config: { configurable: { thread_id: "1" } } };
}

/** A run that is cancelled when all tools of its batch but `heedful` have ended. */
async function cancelRun({ graph, probe, config }: ReturnType<typeof open>, text: string, options: object) {
  const controller = new AbortController();
  const begun = probe.runs.length;
  const run = graph
    .invoke(user(text), { ...config, ...options, signal: controller.signal })
    .catch((error: unknown) => error);
  await probe.hasBegun(begun + 2);
  await turns();
  controller.abort();
  expect(await run).toBeInstanceOf(Error);
  await turns();
}

const closed =
  "tool! Tool call heedful (h): a new message came before it finished. It may or may not have taken effect.";
const batch = () => calls(["fast", {}, "f"], ["heedful", {}, "h"]);

const ways = Object.keys(WAYS) as Way[];

describe.each(ways)("an agent that is %s", (way) => {
  it.each(DURABILITIES)("reads the results of its cancelled run: %s", async (durability) => {
    const opened = open(way, batch(), "Better now?");
    const { graph, model, config } = opened;
    await cancelRun(opened, "Go.", { durability });
    await graph.invoke(user("Hello?"), { ...config, durability });
    const request = lines(`human: Go. | ai> fast heedful | tool: fast done - | ${closed} | human: Hello?`);
    expect(script(model.requests.at(-1)?.messages ?? [])).toEqual(request);
    const { messages } = (await graph.getState(config)).values;
    expect(script(messages).filter((line) => line === "tool: fast done -")).toHaveLength(1);
    expect(script(messages)).toHaveLength(6);
  });
});

describe.each(ways.filter((way) => way !== "a node with its own memory"))("an agent that is %s", (way) => {
  it("has what its ended runs did over several steps, once, in order, with other keys", async () => {
    const opened = open(way, calls(["noting", {}, "n"]), batch(), "Better now?", "Bye.");
    const { graph, model, config, probe } = opened;
    await cancelRun(opened, "Go.", { durability: "sync" });
    expect(probe.runs).toHaveLength(2);
    const { messages, note: value } = await graph.invoke(user("Hello?"), config);
    const before = lines(
      `human: Go. | ai> noting | tool: noting done | ai> fast heedful | tool: fast done - | ${closed}`,
    );
    expect(script(model.requests.at(-1)?.messages ?? [])).toEqual([...before, "human: Hello?"]);
    expect(value).toBe("noted");
    expect(messages).toHaveLength(8);
    await graph.invoke(user("Bye."), config);
    expect(script(model.requests.at(-1)?.messages ?? [])).toHaveLength(9);
  });

  it.each(DURABILITIES)(
    "has the results of a run that was cancelled in its next request: %s",
    async (durability) => {
      const isAsked = deferred();
      const answers: Answer[] = [
        () => calls(["fast", {}, "f"]),
        ({ signal }) => {
          isAsked.resolve();
          return new Promise((_resolve, reject) => {
            signal?.addEventListener("abort", () => reject(signal.reason));
          });
        },
      ];
      const model = new FunctionModel((asked) => answers[asked.index]?.(asked) ?? "Better now?");
      const { graph, config } = openWith(way, model);
      const controller = new AbortController();
      const options = { ...config, durability };
      const run = graph.invoke(user("Go."), { ...options, signal: controller.signal });
      run.catch(() => {});
      await isAsked.promise;
      await turns();
      controller.abort();
      await expect(run).rejects.toThrow();
      await turns();
      await graph.invoke(user("Hello?"), options);
      expect(script(model.requests.at(-1)?.messages ?? [])).toEqual(
        lines("human: Go. | ai> fast | tool: fast done - | human: Hello?"),
      );
      const { messages } = (await graph.getState(config)).values;
      expect(script(messages)).toHaveLength(5);
    },
  );

  it("is not given what a finished run did", async () => {
    const { graph, model, config } = open(way, calls(["fast", {}, "f"]), "Done.", "Fine.");
    await graph.invoke(user("Go."), config);
    await graph.invoke(user("Hello?"), config);
    expect(script(model.requests.at(-1)?.messages ?? [])).toEqual(
      lines("human: Go. | ai> fast | tool: fast done - | ai: Done. | human: Hello?"),
    );
  });
});

it.each(["createAgent", "createAgentGraph"])(
  "%s gets back what its cancelled run did where another node comes first",
  async (kind) => {
    const probe = createProbe();
    const model = scripted(batch(), "Better now?", "Bye.");
    const tools = [probe.fast, probe.heedful];
    const agent =
      kind === "createAgent"
        ? (createAgent({ model, tools, middleware: [tetherMiddleware()] } as never) as unknown as AnyAgent)
            .graph
        : createAgentGraph({ model, tools });
    const graph = new StateGraph(State)
      .addNode("router", () => ({}))
      .addNode("agent", agent as never)
      .addEdge(START, "router")
      .addEdge("router", "agent")
      .compile({ checkpointer: new MemorySaver() });
    const opened = { graph, probe, config: { configurable: { thread_id: "1" } } };
    await cancelRun(opened as never, "Go.", {});
    for (const text of ["Hello?", "Bye!"]) await graph.invoke(user(text), opened.config);
    const request = lines(`human: Go. | ai> fast heedful | tool: fast done - | ${closed} | human: Hello?`);
    expect(script(model.requests[1]?.messages ?? [])).toEqual(request);
    expect(
      script(model.requests[2]?.messages ?? []).filter((line) => line === "tool: fast done -"),
    ).toHaveLength(1);
  },
);

it("What an agent did is kept if a later node of its graph is cancelled, and the graph is a node too", async () => {
  const model = scripted(calls(["fast", {}, "f"]), "Done.", "Fine.");
  const agent = createAgent({
    model,
    tools: [createProbe().fast],
    middleware: [tetherMiddleware()],
  } as never);
  const controller = new AbortController();
  const inside = new StateGraph(State)
    .addNode("agent", (agent as unknown as AnyAgent).graph as never)
    .addNode("after", (_: unknown, { signal }: { signal?: AbortSignal }) => {
      controller.abort();
      signal?.throwIfAborted();
      return {};
    })
    .addEdge(START, "agent")
    .addEdge("agent", "after")
    .compile();
  const graph = around(inside, new MemorySaver());
  const config = { configurable: { thread_id: "1" } };
  await expect(graph.invoke(user("Go."), { ...config, signal: controller.signal })).rejects.toThrow();
  await graph.invoke(user("Hello?"), config);
  expect(script(model.requests.at(-1)?.messages ?? [])).toEqual(
    lines("human: Go. | ai> fast | tool: fast done - | ai: Done. | human: Hello?"),
  );
});

it("Of an agent that `Send` starts twice, no task is given what the other one did", async () => {
  const probe = createProbe();
  const model = scripted(calls(["fast", {}, "f"], ["heedful", {}, "h"]), "One.", "Two.", "Three.");
  const agent = createAgent({
    model,
    tools: [probe.fast, probe.heedful],
    middleware: [tetherMiddleware()],
  } as never) as unknown as AnyAgent;
  const graph = new StateGraph(State)
    .addNode("agent", agent.graph as never)
    .addConditionalEdges(
      START,
      (state) => ["One?", "Two?"].map((text) => new Send("agent", asked(state, text))),
      ["agent"],
    )
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  const controller = new AbortController();
  const run = graph.invoke(user("Go."), { ...config, signal: controller.signal }).catch(() => "cancelled");
  await probe.hasBegun(2);
  await turns();
  controller.abort();
  expect(await run).toBe("cancelled");
  await graph.invoke(user("Hello?"), config);
  for (const { messages } of model.requests.slice(-2))
    expect(script(messages).filter((line) => line.startsWith("tool"))).toEqual([]);
});

const asked = ({ messages }: { messages: object[] }, text: string) => ({
  messages: [...messages, ...user(text).messages],
});
