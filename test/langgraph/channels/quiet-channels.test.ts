import { Annotation, EmptyChannelError, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { withQuietChannels } from "../../../src/threads/langgraph/channels.js";

const State = Annotation.Root({ count: Annotation<number>, note: Annotation<string> });

const draw = () =>
  new StateGraph(State)
    .addNode("first", ({ count }) => ({ count: count + 1 }))
    .addNode("second", () => ({}))
    .addEdge(START, "first")
    .addEdge("first", "second");

it("A channel without a value behaves as LangGraph's own one, and makes no error each time it is read", async () => {
  const runs = [];
  for (const make of [<Graph>(graph: Graph) => graph, withQuietChannels]) {
    const graph = make(draw()).compile({ checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: "one" } };
    const chunks: unknown[] = [];
    for await (const chunk of await graph.stream({ count: 1 }, { ...thread, streamMode: "values" }))
      chunks.push(chunk);
    const states: unknown[] = [];
    for await (const { values, next } of graph.getStateHistory(thread)) states.push({ values, next });
    const again = await graph.invoke({ note: "given" }, thread);
    runs.push({ chunks, states, again });
  }
  expect(runs[1]).toEqual(runs[0]);
  const { note } = withQuietChannels(draw()).channels;
  const errors = [0, 1].map(() => {
    try {
      return note?.get();
    } catch (error) {
      return error;
    }
  });
  expect(errors[0]).toBeInstanceOf(EmptyChannelError);
  expect(errors[0]).toBe(errors[1]);
});

it("LangGraph makes such a channel for a key without a default", () => {
  expect(draw().channels.note?.lc_graph_name).toBe("LastValue");
});
