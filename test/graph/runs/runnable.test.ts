import type { BaseMessage } from "@langchain/core/messages";
import { END, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentMiddleware, createAgentGraph, PairedMessagesValue } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { messagesOf, pairedScript, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

const config = { configurable: { thread_id: "1" } };

function create() {
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful, probe.deaf];
  return {
    probe,
    tools,
    graph: createAgentGraph({ model: "offline:", tools, checkpointer: new MemorySaver() }),
  };
}

const ANSWER = ["human: call fast", "ai> fast", "tool: fast done -", "ai: fast returned: fast done -"];
const input = () => user("call fast");

describe("an agent graph is run through", () => {
  it("withConfig, even twice, and keeps its checks and its limits", async () => {
    const { graph } = create();
    const copy = graph.withConfig({ tags: ["a"] }).withConfig({ recursionLimit: 3 });
    expect(pairedScript(await copy.invoke(user("call fast, then call fast"), config))).toHaveLength(2);
    const refused = copy.invoke(input(), { ...config, context: { maxIteration: 1 } as never });
    await expect(refused).rejects.toThrow("`maxIteration`");
  });

  it("withConfig, and repairs what a cancelled run left", async () => {
    const { graph, probe } = create();
    const copy = graph.withConfig({ tags: ["a"] });
    const controller = new AbortController();
    const run = copy.invoke(user("call heedful and call fast"), { ...config, signal: controller.signal });
    await probe.hasBegun(2);
    await turns();
    controller.abort();
    await expect(run).rejects.toThrow(/abort/i);
    expect(pairedScript(await copy.invoke(user("hello"), config))).toContain("tool: fast done -");
  });

  it("pipe", async () => {
    const { graph } = create();
    const last = graph.pipe((state: { messages: BaseMessage[] }) => state.messages.at(-1)?.text);
    expect(await last.invoke(input(), config)).toBe("fast returned: fast done -");
  });

  it("no thread at all", async () => {
    const { tools } = create();
    const graph = createAgentGraph({ model: "offline:", tools });
    expect(pairedScript(await graph.invoke(input()))).toEqual(ANSWER);
    expect(pairedScript(await graph.invoke(input()))).toEqual(ANSWER);
  });
});

describe("an invalid input", () => {
  const around = agentMiddleware((_context, next) => next());

  it.each([["hi"], [5], [[]], [[["user", "hi"]]]])("is refused with a clear error: %j", async (input) => {
    for (const middleware of [[], [around]]) {
      const graph = createAgentGraph({ model: "offline:", middleware });
      await expect(graph.invoke(input as never)).rejects.toMatchObject({
        name: "InvalidMessageError",
        message: expect.stringMatching(/^Expected `input` to be an object with `messages`/),
      });
    }
  });
});

describe("an input without messages", () => {
  const around = agentMiddleware((_context, next) => next());
  const inputs: readonly (readonly [input: object, hint: string])[] = [
    [{ message: "hi" }, " Did you mean `messages`?"],
    [{ Messages: [] }, " Did you mean `messages`?"],
    [{ input: "hi" }, ""],
    [{ messages: undefined }, ""],
    [{}, ""],
  ];

  it.each(inputs)("is refused by name, and the thread stays as it was: %j", async (input, hint) => {
    for (const middleware of [[], [around]]) {
      const graph = createAgentGraph({ model: "offline:", middleware, checkpointer: new MemorySaver() });
      await graph.invoke(user("hello"), config);
      const before = await graph.getState(config);
      const message = `Expected \`input\` to be an object with \`messages\`, a \`Command\` or null, got \`${JSON.stringify(input)}\`.${hint}`;
      const refused = { name: "InvalidMessageError", message };
      await expect(graph.invoke(input as never, config)).rejects.toMatchObject(refused);
      await expect(graph.batch([input as never], [config])).rejects.toMatchObject(refused);
      expect(await graph.getState(config)).toEqual(before);
    }
  });

  it("continues the thread if it is an empty list, null or nothing", async () => {
    const { graph } = create();
    await graph.invoke(input(), config);
    for (const given of [{ messages: [] }, null, undefined]) {
      expect(pairedScript(await graph.invoke(given as never, config))).toEqual(ANSWER);
    }
  });

  it("is taken from a parent graph whose state has none yet", async () => {
    const graph = createAgentGraph({ model: "offline:" });
    const parent = new StateGraph(z.object({ messages: z.array(z.any()).optional(), plan: z.string() }))
      .addNode("child", graph as never)
      .addEdge(START, "child")
      .addEdge("child", END)
      .compile();
    expect(await parent.invoke({ plan: "p" })).toEqual({ plan: "p" });
  });
});

describe("an agent graph as a node of another graph", () => {
  const paired = new StateSchema({ messages: PairedMessagesValue });

  function nest(checkpointer?: MemorySaver) {
    const probe = createProbe();
    const child = createAgentGraph({ model: "offline:", tools: [probe.fast, probe.heedful] });
    const drawn = new StateGraph(paired)
      .addNode("child", child)
      .addEdge(START, "child")
      .addEdge("child", END);
    return { probe, graph: drawn.compile(checkpointer === undefined ? {} : { checkpointer }) };
  }

  it("streams from within", async () => {
    const { graph } = nest();
    const nodes: string[] = [];
    for await (const [, update] of await graph.stream(input(), { streamMode: "updates", subgraphs: true })) {
      nodes.push(...Object.keys(update as object));
    }
    expect(nodes).toEqual(["model", "tools", "model", "child"]);
  });

  it("leaves the history of the parent graph paired when it is aborted", async () => {
    const { graph, probe } = nest(new MemorySaver());
    const controller = new AbortController();
    const run = graph.invoke(user("call heedful and call fast"), { ...config, signal: controller.signal });
    await probe.hasBegun(2);
    await turns();
    controller.abort();
    await expect(run).rejects.toThrow(/abort/i);
    pairedScript({ messages: messagesOf(await graph.invoke(user("hello"), config)) });
    expect(pairedScript(await graph.invoke(input(), config)).slice(-4)).toEqual(ANSWER);
  });
});
