/** Fake models and nodes give one message object again and again. LangGraph's own tests count on what becomes of it. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { END, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { createAgentGraph, PairedMessagesDeltaValue, PairedMessagesValue } from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const config = inThread("1");

const FIELDS = [
  ["PairedMessagesValue", PairedMessagesValue],
  ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
] as const;

describe("FakeListChatModel", () => {
  it("answers each turn of an agent graph", async () => {
    const model = new FakeListChatModel({ responses: ["one", "two"] });
    const graph = createAgentGraph({ model, checkpointer: new MemorySaver() });
    await graph.invoke(user("first"), config);
    const lines = pairedScript(await graph.invoke(user("second"), config));
    expect(lines).toEqual(["human: first", "ai: one", "human: second", "ai: two"]);
  });

  it.each(FIELDS)("answers each turn of LangGraph's agent with %s", async (_name, field) => {
    const agent = createReactAgent({
      llm: new FakeListChatModel({ responses: ["one", "two"] }),
      tools: [],
      stateSchema: new StateSchema({ messages: field as typeof PairedMessagesValue }) as never,
      checkpointer: new MemorySaver(),
    });
    // The types of LangGraph's agent know no schema of this kind.
    const send = (content: string) =>
      agent.invoke({ messages: [new HumanMessage(content)] } as never, config);
    await send("first");
    const lines = pairedScript(await send("second"));
    expect(lines).toEqual(["human: first", "ai: one", "human: second", "ai: two"]);
  });
});

describe("One message object", () => {
  it.each(FIELDS)("from two nodes of a graph is one message of %s", async (_name, field) => {
    const same = new AIMessage("the same");
    const graph = new StateGraph(new StateSchema({ messages: field as typeof PairedMessagesValue }))
      .addNode("one", () => ({ messages: [same] }))
      .addNode("two", () => ({ messages: [same] }))
      .addEdge(START, "one")
      .addEdge("one", "two")
      .addEdge("two", END)
      .compile({ checkpointer: new MemorySaver() });
    const result = await graph.invoke(user("hi"), config);
    expect(pairedScript(result)).toEqual(["human: hi", "ai: the same"]);
    expect(result.messages[1]?.id).toBe(same.id);
  });

  it("with a call from each request of a model is a new message of an agent graph, so its turn ends", async () => {
    const same = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "fast", args: {} }] });
    const model = new FunctionModel(({ index }) => (index < 3 ? same : "done"));
    const graph = createAgentGraph({ model, tools: [createProbe().fast], checkpointer: new MemorySaver() });
    const lines = pairedScript(await graph.invoke(user("hi"), config));
    expect(lines.filter((line) => line === "ai> fast")).toHaveLength(3);
    expect(lines.at(-1)).toBe("ai: done");
  });

  it("that a caller keeps and sends again is stored once", async () => {
    const graph = createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
    const kept = [new HumanMessage("hello")];
    await graph.invoke({ messages: kept }, config);
    kept.push(new HumanMessage("more"));
    const lines = pairedScript(await graph.invoke({ messages: kept }, config));
    expect(lines.filter((line) => line.startsWith("human"))).toEqual(["human: hello", "human: more"]);
  });
});

it("Every message of the `updates` stream has the id that the state has", async () => {
  const responses = [
    new AIMessage({ content: "", tool_calls: [{ id: "c", name: "fast", args: {} }] }),
    "done",
  ];
  const model = new FunctionModel(({ index }) => responses[index] ?? "done");
  const graph = createAgentGraph({ model, tools: [createProbe().fast], checkpointer: new MemorySaver() });
  const shown: unknown[] = [];
  for await (const update of await graph.stream(user("go"), { ...config, streamMode: "updates" }))
    for (const { messages = [] } of [update.model ?? {}, update.tools ?? {}])
      shown.push(...messages.map(({ id }) => id));
  const { messages = [] } = (await graph.getState(config)).values;
  expect(shown).toEqual(messages.slice(1).map(({ id }: { id?: string }) => id));
  expect(shown).toHaveLength(3);
});
