import type { BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseChannel,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  type RunChunksOf,
  type RunConfigOf,
  showOnly,
  WrappableGraph,
} from "../../../src/threads/langgraph/wrappable-graph.js";
import { allOf } from "../../support/async.js";
import { oneNode } from "../../support/plain-graph.js";
import { inThread, user } from "../../support/thread.js";

type Values = { messages: BaseMessage[] };
type Channels = { messages: BaseChannel<BaseMessage[]> };

let runs: unknown[] = [];

class Watched extends WrappableGraph<Values, Partial<Values>, Channels, unknown, unknown> {
  protected override wrapRun(received: unknown, options: RunConfigOf<Watched>): RunChunksOf<Watched> {
    runs.push(received);
    return this.runUnwrapped(received, options, this.isTrusted);
  }

  isTrusted = false;

  copied(): this {
    return this.copy();
  }
}

function build() {
  runs = [];
  const compiled = oneNode(() => ({ messages: [{ role: "assistant", content: "ho" }] }));
  return new Watched(compiled as never);
}

describe("every run of a graph calls one method", () => {
  const input = user("hi") as never;

  it.each([
    ["invoke", (graph: Watched) => graph.invoke(input)],
    ["stream", (graph: Watched) => allOf(graph.stream(input))],
    ["streamEvents", (graph: Watched) => allOf(graph.streamEvents(input, { version: "v2" }))],
    ["withConfig", (graph: Watched) => graph.withConfig({ tags: ["a"] }).invoke(input)],
    [
      "a parent graph",
      (graph: Watched) =>
        new StateGraph(MessagesAnnotation)
          .addNode("child", graph as never)
          .addEdge(START, "child")
          .compile()
          .invoke(input),
    ],
  ])("by %s", async (_title, run) => {
    await run(build());
    expect(runs).toHaveLength(1);
    expect(runs[0]).toHaveProperty("messages");
  });
});

describe("a copy of a graph", () => {
  it("has the same class and builder, but its own checkpointer", () => {
    const graph = build();
    const copy = graph.copied();
    expect(copy).toBeInstanceOf(Watched);
    expect(copy.builder).toBe(graph.builder);
    copy.checkpointer = new MemorySaver();
    expect(graph.checkpointer).toBeUndefined();
  });
});

describe("a channel that is not shown", () => {
  it("is in the checkpoints, but in neither the values of a run nor those of its thread", async () => {
    const saver = new MemorySaver();
    const State = Annotation.Root({ shown: Annotation<number>, hidden: Annotation<number> });
    const drawn = new StateGraph(State)
      .addNode("count", () => ({ shown: 1, hidden: 2 }))
      .addEdge(START, "count")
      .compile({ checkpointer: saver });
    const graph = new Watched(showOnly(drawn, ["shown"]) as never);
    const seen = await allOf(graph.stream({} as never, { ...inThread("1"), streamMode: "values" }));
    seen.push((await graph.getState(inThread("1"))).values);
    expect(seen.filter((values) => Object.hasOwn(Object(values), "hidden"))).toEqual([]);
    expect(seen.at(-1)).toEqual({ shown: 1 });
    expect((await saver.getTuple(inThread("1")))?.checkpoint.channel_values).toMatchObject({ hidden: 2 });
  });
});

it("the input of a run that was checked is not checked again", async () => {
  const check = vi.spyOn(StateSchema.prototype, "validateInput");
  const compiled = new StateGraph(new StateSchema({ count: z.number() }))
    .addNode("node", () => ({}))
    .addEdge(START, "node")
    .compile();
  const graph = new Watched(compiled as never);
  await graph.invoke({ count: 1 } as never);
  const before = check.mock.calls.length;
  graph.isTrusted = true;
  await graph.invoke({ count: 1 } as never);
  expect(check.mock.calls.length - before).toBe(before - 1);
});
