import { describe, expect, it } from "vitest";
import { mapParentStream } from "../../src/threads/langgraph/run-host.js";
import { oneNode, say } from "../support/plain-graph.js";

describe("the stream of a parent graph", () => {
  it("gets the chunks of a subgraph through `push`, as tuples that end with mode and payload", async () => {
    const child = oneNode(() => say("from the child"));
    const parent = oneNode(async (state, config) => {
      const options = mapParentStream(config, (chunk) =>
        Array.isArray(chunk) && chunk.at(-2) === "updates" ? chunk.with(-1, "hidden") : chunk,
      );
      return child.invoke(state, options);
    });
    const chunks: unknown[] = [];
    for await (const chunk of await parent.stream(say("hi"), { streamMode: ["updates"], subgraphs: true }))
      chunks.push(chunk);
    expect(chunks).toEqual([
      [[expect.stringMatching(/^node0:/)], "updates", "hidden"],
      [[], "updates", { node0: expect.anything() }],
    ]);
  });

  it("does not exist for a run without a parent", () => {
    const options = { configurable: { thread_id: "1" } };
    expect(mapParentStream(options, () => "hidden")).toBe(options);
  });
});
