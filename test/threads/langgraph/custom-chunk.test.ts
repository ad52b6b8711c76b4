/** Our chunks have the shape of those that LangGraph makes for values that nodes write. */

import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { retractMessages, takeBack } from "../../../src/threads/ended-runs/shown-text.js";
import { type ChunkOptions, customChunk } from "../../../src/threads/langgraph/run-host.js";
import { allOf } from "../../support/async.js";
import { oneNode } from "../../support/plain-graph.js";

const graph = new StateGraph(MessagesAnnotation)
  .addNode("write", async (_state, config) => {
    config.writer?.("a value");
    return {};
  })
  .addEdge(START, "write")
  .compile();

it.each<ChunkOptions>([
  { streamMode: "custom" },
  { streamMode: ["custom"] },
  { streamMode: ["updates", "custom"] },
  { streamMode: "custom", subgraphs: true },
  { streamMode: ["custom"], subgraphs: true },
  { streamMode: "custom", encoding: "text/event-stream" },
  { streamMode: ["custom"], subgraphs: true, encoding: "text/event-stream" },
  { streamMode: ["updates"] },
  { streamMode: "updates" },
  {},
])("with the options %j", async (options) => {
  const chunks = await allOf(graph._streamIterator({ messages: [] }, options as never));
  const made = customChunk("a value", options);
  const ofLangGraph = chunks.filter((chunk) => JSON.stringify(chunk).includes("a value"));
  expect(ofLangGraph).toEqual(made === undefined ? [] : [made.chunk]);
});

it("the events of a run have what agent middleware writes", async () => {
  const note = agentMiddleware(async ({ writer }, next) => {
    writer({ type: "note" });
    await next();
  });
  const agent = createAgentGraph({ model: "offline:", middleware: [note] });
  const options = { version: "v2", streamMode: ["custom", "values"] } as const;
  const events = await allOf<StreamEvent>(agent.streamEvents({ messages: "Hello" }, options as never));
  const chunks = events.flatMap(({ event, data }) => (event === "on_chain_stream" ? [data.chunk] : []));
  const isNote = (chunk: unknown) => JSON.stringify(chunk ?? null).includes("note");
  expect(chunks.filter(isNote)).toEqual([["custom", { type: "note" }]]);
});

type Node = Parameters<typeof oneNode>[0];

/** What a client of the `messages` stream gets. */
async function shownBy(node: Node): Promise<string[]> {
  const input = { messages: [new HumanMessage("hi"), new AIMessage({ id: "a", content: "ho" })] };
  const shown = await allOf<[BaseMessage]>(oneNode(node).stream(input as never, { streamMode: "messages" }));
  return shown.map(([{ type, id }]) => `${type} ${id}`);
}

describe("a client of the `messages` stream", () => {
  it("does not get a removal that a node writes; if this test fails, the retraction model is not needed", async () => {
    expect(await shownBy(() => ({ messages: [new RemoveMessage({ id: "a" })] }))).toEqual([]);
  });

  it("gets a removal that comes from a model", async () => {
    const retract: Node = async (_, config) => {
      await retractMessages([new RemoveMessage({ id: "a" })], config);
      return { messages: [new RemoveMessage({ id: "a" })] };
    };
    expect(await shownBy(retract)).toEqual(["remove a"]);
  });

  it("is told to remove a response, but not by an aborted run", async () => {
    const answer = new AIMessage({ id: "b", content: "half" });
    expect(await shownBy(async (_, config) => takeBack(answer, config))).toEqual(["remove b"]);
    const signal = AbortSignal.abort();
    expect(await shownBy(async (_, config) => takeBack(answer, { ...config, signal }))).toEqual([]);
  });
});
