/** Agent middleware around every kind of run. */

import { setTimeout as delay } from "node:timers/promises";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraphOptions, agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

/** An agent whose middleware adds one mark to the input and another to the response. */
function marked(options: Partial<AgentGraphOptions> = {}) {
  const lines: string[] = [];
  const probe = createProbe();
  const mark = agentMiddleware(async function mark(context, next) {
    lines.push(context.stream ? "streamed" : "invoked");
    const [message] = context.messages;
    if (message !== undefined) message.content = `${message.text}?`;
    await next();
    context.result = `${context.result?.text}!`;
  });
  const graph = createAgentGraph({
    model: new FunctionModel(({ messages }) => (messages.at(-1)?.type === "tool" ? "done" : calls(["fast"]))),
    tools: [probe.fast],
    middleware: [mark],
    ...options,
  });
  return { graph, lines, probe };
}

type Graph = ReturnType<typeof marked>["graph"];

const ANSWER = ["human: go?", "ai> fast", "tool: fast done -", "ai: done!"];
const ALL_MODES = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"] as const;

/** Each returns the last values that it was given. */
const WAYS: Readonly<Record<string, (graph: Graph) => Promise<unknown>>> = {
  invoke: (graph) => graph.invoke(user("go"), config),
  batch: async (graph) => (await graph.batch([user("go")], [config]))[0],
  "stream of values": async (graph) => {
    let last: unknown;
    for await (const values of await graph.stream(user("go"), { ...config, streamMode: "values" }))
      last = values;
    return last;
  },
  "stream in all modes": async (graph) => {
    let last: unknown;
    const options = { ...config, streamMode: [...ALL_MODES] };
    for await (const [mode, data] of await graph.stream(user("go"), options))
      if (mode === "values") last = data;
    return last;
  },
  "stream with subgraphs": async (graph) => {
    let last: unknown;
    const options = {
      ...config,
      streamMode: ["values", "updates"] as ("values" | "updates")[],
      subgraphs: true as const,
    };
    for await (const [namespace, mode, data] of await graph.stream(user("go"), options)) {
      expect(namespace).toEqual([]);
      if (mode === "values") last = data;
    }
    return last;
  },
  "stream of server-sent events": async (graph) => {
    let text = "";
    const options = { ...config, streamMode: "values" as const, encoding: "text/event-stream" as const };
    for await (const bytes of await graph.stream(user("go"), options))
      text += new TextDecoder().decode(bytes);
    const data = text.split("\n").findLast((line) => line.startsWith("data: ")) ?? "";
    const values = JSON.parse(data.slice("data: ".length));
    return { messages: values.messages };
  },
  "streamEvents v2": async (graph) => {
    let output: unknown;
    for await (const { event, data } of graph.streamEvents(user("go"), { ...config, version: "v2" }))
      if (event === "on_chain_end") output = data.output;
    return output;
  },
  "streamEvents v3": async (graph) => {
    const run = await graph.streamEvents(user("go"), { ...config, version: "v3" });
    return run.output;
  },
};

describe("an agent middleware goes around", () => {
  const checkpointers = [
    ["with a checkpointer", () => new MemorySaver()],
    ["without", () => undefined],
  ] as const;
  const rows = Object.keys(WAYS).flatMap((way) =>
    checkpointers.map(([title, make]) => [way, title, make] as const),
  );

  it.each(rows)("%s, %s", async (way, _title, make) => {
    const checkpointer = make();
    const { graph, lines, probe } = marked({ checkpointer });
    expect(pairedScript(await WAYS[way]?.(graph))).toEqual(ANSWER);
    expect(lines).toEqual([way === "invoke" || way === "batch" ? "invoked" : "streamed"]);
    expect(probe.runs).toHaveLength(1);
    if (checkpointer !== undefined)
      expect(pairedScript((await graph.getState(config)).values)).toEqual(ANSWER);
  });

  it.each(checkpointers)("a run as a node of another graph, %s", async (_title, make) => {
    const checkpointer = make();
    const { graph: child } = marked();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("child", child)
      .addEdge(START, "child")
      .addEdge("child", END)
      .compile(checkpointer === undefined ? {} : { checkpointer });
    const input = { messages: [new HumanMessage({ id: "h", content: "go" })] };
    const values = await graph.invoke(input, config);
    expect(pairedScript(values)).toEqual(ANSWER);
    if (checkpointer === undefined) return;
    const again = await graph.invoke({ messages: [new HumanMessage("go")] }, config);
    expect(script(messagesOf(again)).filter((line) => line === "ai: done!")).toHaveLength(2);
  });

  it("a run within a tool of another agent, each with its own", async () => {
    const { graph: inner, lines: innerLines } = marked();
    const fast = tool(async () => (await inner.invoke(user("go"))).messages.at(-1)?.text, {
      name: "fast",
      description: "asks another agent",
      schema: z.object({}),
    });
    const { graph, lines } = marked({ tools: [fast], checkpointer: new MemorySaver() });
    expect(pairedScript(await graph.invoke(user("go"), config))[2]).toBe("tool: done!");
    expect([lines, innerLines]).toEqual([["invoked"], ["invoked"]]);
  });

  it("a run that ends before it has begun, when it was aborted before", async () => {
    const { graph, lines } = marked({ checkpointer: new MemorySaver() });
    await expect(graph.invoke(user("go"), { ...config, signal: AbortSignal.abort() })).rejects.toThrow(
      /abort/i,
    );
    expect(lines).toEqual([]);
  });
});

describe("a waiting agent middleware", () => {
  /** Waits longer than a test runs. */
  function waiting(place: "before" | "after", controller: AbortController) {
    return createAgentGraph({
      model: new FunctionModel(() => "done"),
      checkpointer: new MemorySaver(),
      middleware: [
        agentMiddleware(async function wait(context, next) {
          if (context.messages.at(-1)?.text === "hello") return next();
          if (place === "after") await next();
          setTimeout(() => controller.abort(), 20);
          await delay(60_000, undefined, { ref: false });
          return next();
        }),
      ],
    });
  }

  it.each([
    ["before", []],
    ["after", ["human: go", "ai: done"]],
  ] as const)("is not waited for when its run is aborted %s next()", async (place, kept) => {
    const controller = new AbortController();
    const graph = waiting(place, controller);
    const run = graph.invoke(user("go"), { ...config, signal: controller.signal });
    await expect(run).rejects.toThrow(/abort/i);
    expect(pairedScript(await graph.invoke(user("hello"), config))).toEqual([
      ...kept,
      "human: hello",
      "ai: done",
    ]);
  });
});

describe("a reader that leaves early", () => {
  it("ends the run; the middleware sees it, and the thread stays usable", async () => {
    let ended: unknown;
    const probe = createProbe();
    const watch = agentMiddleware(async function watch({ signal }, next) {
      await next().finally(() => {
        ended = signal?.aborted;
      });
    });
    const graph = createAgentGraph({
      model: new FunctionModel(({ messages }) =>
        messages.at(-1)?.text === "go" ? calls(["heedful"]) : "done",
      ),
      tools: [probe.heedful],
      middleware: [watch],
      checkpointer: new MemorySaver(),
    });
    const seen: BaseMessage[] = [];
    for await (const [message] of await graph.stream(user("go"), { ...config, streamMode: "messages" })) {
      seen.push(message);
      break;
    }
    await expect.poll(() => ended).toBe(true);
    expect(seen).toHaveLength(1);
    const lines = pairedScript(await graph.invoke(user("hello"), config));
    expect(lines.slice(-2)).toEqual(["human: hello", "ai: done"]);
  });
});
