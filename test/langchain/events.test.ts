/** Events of an agent's model calls, and of an agent inside another graph. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver, StateSchema } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { type AgentEvent, PairedMessagesValue } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { allOf } from "../support/async.js";
import { MADE_MODELS, makeModel } from "../support/clients.js";
import { lines } from "../support/lines.js";
import { alternating, calls, FunctionModel, OpenAILike } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { parentOf } from "../support/plain-graph.js";
import { scripted } from "../support/scripted-model.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { hastenRetries } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

describe("the event", () => {
  it("`model-retry` comes while the client waits to send a request again", async () => {
    hastenRetries();
    const strict = await startStrictProvider();
    try {
      const [made] = MADE_MODELS;
      if (made === undefined) throw new Error("There is no model.");
      const thread = openAgent({ model: await makeModel(made, strict) });
      strict.failNext({ status: 503 });
      const { events, error } = await thread.run(user("Hi."));
      expect(error).toBeUndefined();
      expect(events).toEqual([
        { type: "model-retry", attempt: 1, maxAttempts: 5, reason: expect.stringContaining("503") },
      ]);
    } finally {
      await strict.stop();
    }
  });

  it("`input-reduced` names what the model does not get", async () => {
    const model = new FunctionModel(() => "Yes.");
    const thread = openAgent({ model, middleware: [tetherMiddleware({ maxTokens: 300 })] });
    const long = new HumanMessage({ id: "long", content: "word ".repeat(2_000) });
    await thread.update([long, new AIMessage("Well.")]);
    const { events } = await thread.run(user("And?"));
    expect(events).toEqual([
      expect.objectContaining({
        type: "input-reduced",
        rung: "shortened",
        reason: undefined,
        maxTokens: 300,
      }),
    ]);
    expect(model.requests[0]?.messages.map(({ text }) => text).join("").length).toBeLessThan(2_000);
    expect((await thread.read())[0]?.text).toBe(long.text);
  });

  it("`input-reduced` comes before a refused history is sent in the strict dialect", async () => {
    const model = new OpenAILike(alternating);
    const thread = openAgent({ model });
    await thread.update([new HumanMessage("one"), new AIMessage("two"), new AIMessage("three")]);
    const { events, error } = await thread.run(user("four"));
    expect(error).toBeUndefined();
    expect(events).toEqual([
      {
        type: "input-reduced",
        rung: "strict",
        reason: expect.stringContaining("must alternate"),
        messageIds: [],
        leftOut: [],
        maxTokens: undefined,
      },
    ]);
    expect(model.requests).toHaveLength(2);
  });
});

describe("an agent inside another graph", () => {
  const { fast } = createProbe();
  const state = new StateSchema({ messages: PairedMessagesValue });
  const nest = (child: object) => parentOf(child, { checkpointer: new MemorySaver() }, state);
  const config = inThread("1");

  it("has its calls closed, and the parent streams its events", async () => {
    const model = scripted("Better now?");
    const parent = nest(createAgent({ model, tools: [fast], middleware: [tetherMiddleware()] }).graph);
    await parent.updateState(config, { messages: [new HumanMessage("Go."), calls(["fast", {}, "f"])] });
    const options = { ...config, streamMode: "custom", subgraphs: true } as const;
    const streamed = await allOf<[unknown, AgentEvent]>(parent.stream(user("Hello?") as never, options));
    expect(streamed.map(([, { type }]) => type)).toEqual(["call-closed", "run-end"]);
    expect(pairedScript((await parent.getState(config)).values)).toEqual(
      lines("human: Go. | ai> fast | tool! Tool call fast… | human: Hello? | ai: Better now?"),
    );
  });

  it("can be called by a node, with summaries", async () => {
    const summary = { maxMessagesBeforeSummary: 3, summaryModel: new FunctionModel(() => "In short.") };
    const model = new FunctionModel(() => "Yes, and that at some length, so that a summary is worth it.");
    const agent = createAgent({ model, middleware: [tetherMiddleware({ summary })] });
    const parent = nest(async ({ messages }: { messages: BaseMessage[] }) => {
      const result = await agent.invoke({ messages });
      return { messages: result.messages };
    });
    for (const text of ["One?", "Two?", "Three?"])
      await parent.invoke(user(`${text} ${"Please tell me more. ".repeat(10)}`) as never, config);
    const messages = pairedMessagesOf((await parent.getState(config)).values);
    expect(messages.some(({ text }) => text.includes("In short."))).toBe(true);
    expect(messages.filter(({ type }) => type === "human").length).toBeGreaterThanOrEqual(3);
    expect(model.refused).toEqual([]);
  });
});
