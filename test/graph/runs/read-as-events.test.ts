/** Runs that are read with `streamEvents`. LangChain stops reading if the first chunk comes at the wrong time. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentEvent, agentMiddleware, type Middleware } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf, turns } from "../../support/async.js";
import { beforeNext } from "../../support/middleware.js";
import { user } from "../../support/thread.js";

const EVENTS = "langgraph-tether:event";
const outcomes: string[] = [];
const note = (published: unknown) => {
  const event = published as AgentEvent;
  if (event.type === "run-end") outcomes.push(event.outcome);
};
beforeEach(() => subscribe(EVENTS, note));
afterEach(() => unsubscribe(EVENTS, note));

const passOn = agentMiddleware(async (_, next) => next());
const changeAndWrite = agentMiddleware(async (context, next) => {
  context.writer("early");
  await turns();
  await next();
  context.writer("late");
  context.result = new AIMessage("changed");
});

const SAVERS = [
  { title: "with a checkpointer", make: () => new MemorySaver() },
  { title: "without", make: () => undefined },
];

async function run(middleware: Middleware[], make: () => MemorySaver | undefined, streamMode?: string[]) {
  outcomes.length = 0;
  const { graph, config, lines } = agentThread(["done"], { middleware, checkpointer: make() });
  const options = { ...config, ...(streamMode && { streamMode }), version: "v2" };
  const events = await allOf<{ event: string; name: string; data: { chunk: unknown } }>(
    graph.streamEvents(user("go"), options as never),
  );
  const chunks = events.flatMap(({ event, name, data }) =>
    event === "on_chain_stream" && name === graph.getName() ? [data.chunk] : [],
  );
  return { chunks, lines: make() && (await lines()), outcomes: outcomes.splice(0) };
}

describe.each(SAVERS)("A run that is read as events, $title,", ({ make }) => {
  it.each([
    { kind: "alone", middleware: [] },
    { kind: "inside a middleware", middleware: [passOn] },
  ])("is read to its end if it has one chunk ($kind)", async ({ middleware }) => {
    const { chunks, lines, outcomes } = await run(middleware, make);
    expect(chunks).toMatchObject([{ model: { messages: [{ content: "done" }] } }]);
    expect(lines).toEqual(make() && ["human: go", "ai: done"]);
    expect(outcomes).toEqual(["done"]);
  });

  it("is read to its end if a middleware writes before the graph begins", async () => {
    const { chunks, lines, outcomes } = await run([changeAndWrite], make, ["custom", "values"]);
    expect(chunks[0]).toEqual(["custom", "early"]);
    expect(chunks).toContainEqual(["custom", "late"]);
    expect(chunks.at(-2)).toMatchObject(["values", { messages: [{}, { content: "changed" }] }]);
    expect(chunks.at(-1)).toMatchObject(["custom", { type: "run-end" }]);
    expect(lines).toEqual(make() && ["human: go", "ai: changed"]);
    expect(outcomes).toEqual(["done"]);
  });

  it("has what a middleware wrote before it threw, in version 3", async () => {
    const middleware = [
      beforeNext("agent", async ({ writer }) => {
        writer("early");
        await turns();
        throw new Error("no");
      }),
    ];
    const { graph, config } = agentThread([], { middleware, checkpointer: make() });
    const events = await graph.streamEvents(user("go"), { ...config, version: "v3" });
    const methods: string[] = [];
    const reading = (async () => {
      for await (const { method } of events) methods.push(method);
    })();
    await expect(reading).rejects.toThrow("no");
    expect(methods).toContain("custom");
  });
});
