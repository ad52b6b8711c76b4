import { Command, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { z } from "zod";
import { withValueUntilNextStep } from "../../../src/threads/langgraph/channels.js";

const state = z.object({ text: z.string(), response: z.unknown().optional() });

it("The value of the channel is there after the last superstep, and gone with new input.", async () => {
  const graph = withValueUntilNextStep(new StateGraph({ state }), "response")
    .addNode(
      "model",
      async ({ text }) =>
        text === "second"
          ? new Command({ update: { text: "done", response: { at: 1 } }, goto: END })
          : new Command({ update: { text: "second" }, goto: "model" }),
      { ends: ["model", END] },
    )
    .addEdge(START, "model")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  const run = async (): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for await (const chunk of await graph.stream({ text: "first" }, { ...config, streamMode: "values" }))
      seen.push(chunk);
    return seen;
  };
  const ends = [{ text: "first" }, { text: "second" }, { text: "done", response: { at: 1 } }];
  expect(await run()).toEqual(ends);
  expect((await graph.getState(config)).values).toEqual(ends[2]);
  expect(await run()).toEqual(ends);
  await graph.updateState(config, { text: "edited" });
  expect((await graph.getState(config)).values).toEqual({ text: "edited" });
});
