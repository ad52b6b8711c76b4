/** Our chunks have the shape of those that LangGraph makes for values that nodes write. */

import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { agentMiddleware, createAgentGraph } from "../../src/index.js";
import { type ChunkOptions, customChunk } from "../../src/threads/langgraph/run-host.js";

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
  const chunks: unknown[] = [];
  // `stream` encodes these chunks; here they are as a run makes them.
  for await (const chunk of graph._streamIterator({ messages: [] }, options as never)) chunks.push(chunk);
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
  const seen: unknown[] = [];
  const input = { messages: "Hello" };
  for await (const { event, data } of agent.streamEvents(input, {
    version: "v2",
    streamMode: ["custom", "values"],
  }))
    if (event === "on_chain_stream" && JSON.stringify(data.chunk ?? null).includes("note"))
      seen.push(data.chunk);
  expect(seen).toEqual([["custom", { type: "note" }]]);
});
