/** A run that is told to drain ends at its next checkpoint, so that a process can stop in the middle of a turn. */

import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { GraphDrained, MemorySaver, RunControl } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { inThread, user } from "../../support/thread.js";

function setUp() {
  const control = new RunControl();
  const runs: string[] = [];
  const look = tool(
    async ({ city }) => {
      runs.push(city);
      control.requestDrain("SIGTERM");
      return `${city}: clear`;
    },
    { name: "look", description: "Looks.", schema: z.object({ city: z.string() }) },
  );
  const call = (city: string) => ({ id: city, name: "look", args: { city }, type: "tool_call" as const });
  const model = new FunctionModel(({ messages }) =>
    messages.at(-1)?.type === "tool"
      ? "It is clear."
      : new AIMessage({ content: "", tool_calls: [call("Rome"), call("Oslo")] }),
  );
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver() });
  return { graph, model, control, runs };
}

const said = user("How is the sky?");

it("ends after the tools that run, and the next run goes on with their results", async () => {
  const { graph, model, control, runs } = setUp();
  await expect(graph.invoke(said, { ...inThread("1"), control })).rejects.toThrow(GraphDrained);
  const { values } = await graph.getState(inThread("1"));
  expect(values.messages.map(({ text }: { text: string }) => text).slice(2)).toEqual([
    "Rome: clear",
    "Oslo: clear",
  ]);
  expect(model.requests).toHaveLength(1);
  const { messages } = await graph.invoke({ messages: [] }, inThread("1"));
  expect(messages.at(-1)?.text).toBe("It is clear.");
  expect(runs).toEqual(["Rome", "Oslo"]);
});

it("begins nothing if it is told before", async () => {
  const { graph, model, control } = setUp();
  control.requestDrain("SIGTERM");
  await expect(graph.invoke(said, { ...inThread("1"), control })).rejects.toThrow(GraphDrained);
  expect(model.requests).toEqual([]);
});
