/** Tools that are async generators: what they yield is streamed, and what they return is the result. */

import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const schema = z.object({ city: z.string() });

const look = tool(
  async function* ({ city }) {
    yield `looking at ${city}`;
    yield { done: 50 };
    return `${city}: 18 °C`;
  },
  { name: "look", description: "Looks.", schema },
);
const silent = tool(
  async function* () {
    yield "nothing to say";
  },
  { name: "silent", description: "Says nothing.", schema },
);
const failing = tool(
  async function* () {
    yield "about to fail";
    throw new Error("no luck");
  },
  { name: "failing", description: "Fails.", schema },
);
const ended: string[] = [];
const endless = tool(
  async function* (_, { signal }) {
    try {
      for (;;) {
        yield "still there";
        await new Promise((resolve) => setImmediate(resolve));
        signal?.throwIfAborted();
      }
    } finally {
      ended.push("endless");
    }
  },
  { name: "endless", description: "Never ends.", schema },
);

type Streams = { stream(input: object, options: object): Promise<AsyncIterable<unknown>> };

/** The events of the `tools` mode, without what differs between runs. */
async function toolEvents(graph: unknown): Promise<unknown[]> {
  const events: unknown[] = [];
  const chunks = await (graph as Streams).stream(user("go"), { ...inThread("1"), streamMode: "tools" });
  for await (const chunk of chunks) {
    const { event, name, data } = chunk as Record<string, unknown>;
    events.push([event, name, ...(data === undefined ? [] : [data])]);
  }
  return events;
}

const script = () => scripted(calls(["look", { city: "Oslo" }]), "done");

describe("What a generator yields", () => {
  it("is in the `tools` stream, as with LangChain's createAgent", async () => {
    const ours = await toolEvents(
      createAgentGraph({ model: script(), tools: [look], checkpointer: new MemorySaver() }),
    );
    const theirs = await toolEvents(
      createAgent({ model: script(), tools: [look], checkpointer: new MemorySaver() }),
    );
    expect(ours).toEqual(theirs);
    expect(ours).toEqual([
      ["on_tool_start", "look"],
      ["on_tool_event", "look", "looking at Oslo"],
      ["on_tool_event", "look", { done: 50 }],
      ["on_tool_end", "look"],
    ]);
  });
});

it.each([
  ["returns", look, "tool: Oslo: 18 °C"],
  ["does not return", silent, "tool: (no output)"],
  ["throws", failing, "tool! Error: `failing` failed."],
])("The result of a generator is what it %s.", async (_, given, result) => {
  const model = scripted(calls([given.name, { city: "Oslo" }]), "done");
  const graph = createAgentGraph({ model, tools: [given] });
  expect(pairedScript(await graph.invoke(user("go")))).toEqual([
    "human: go",
    `ai> ${given.name}`,
    result,
    "ai: done",
  ]);
});

it("A generator that does not end is stopped at the timeout.", async () => {
  const model = scripted(calls(["endless", { city: "Oslo" }]), "done");
  const graph = createAgentGraph({ model, tools: [endless], toolTimeoutMs: 20 });
  const [, , result] = pairedScript(await graph.invoke(user("go")));
  expect(result).toBe(
    "tool! Error: `endless` did not finish within 20 ms. It may or may not have taken effect.",
  );
  await expect.poll(() => ended).toEqual(["endless"]);
});
