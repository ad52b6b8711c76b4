import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { calls } from "../../support/scripted-model.js";

const look = tool(async () => "found", {
  name: "look",
  description: "Looks.",
  schema: z.object({ place: z.string() }),
});

function createGraph() {
  const model = new FunctionModel(({ messages }) =>
    messages.at(-1)?.text === "tool" ? calls(["look", { place: "here" }]) : "Done.",
  );
  const checkpointer = new MemorySaver();
  return { model, checkpointer, graph: createAgentGraph({ model, tools: [look], checkpointer }) };
}

const thread = (thread_id: string) => ({ configurable: { thread_id } });

it.each([
  ["text", 3],
  ["tool", 5],
])(
  "A turn with a %s response reads its thread twice, and writes %d checkpoints",
  async (text, checkpoints) => {
    const { checkpointer, graph } = createGraph();
    const read = vi.spyOn(checkpointer, "getTuple");
    const put = vi.spyOn(checkpointer, "put");
    await graph.invoke({ messages: text }, thread("one"));
    expect(put).toHaveBeenCalledTimes(checkpoints);
    // As it begins, and at its end, to see whether another process has written to it.
    expect(read).toHaveBeenCalledTimes(2);
  },
);

it("The schemas of tools are given to a model once, however many runs there are", async () => {
  const { model, graph } = createGraph();
  const bind = vi.spyOn(model, "bindTools");
  for (const id of ["one", "two", "three"]) await graph.invoke({ messages: "tool" }, thread(id));
  expect(bind).toHaveBeenCalledTimes(1);
});
