/** What a client sees of a summary. */

import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { allOf } from "../support/async.js";
import { createLookGraph, eventsOf } from "../support/create-look-graph.js";
import { coverageOf } from "../support/internals.js";
import { talkOf } from "../support/long-histories.js";
import { FunctionModel } from "../support/models.js";
import { inThread, messagesOf, user } from "../support/thread.js";

const SECRET = "the gist of it";

async function longThread(summaryModel = new FunctionModel(() => SECRET)) {
  const made = createLookGraph(({ messages }) => `answer to ${messages.at(-1)?.text.slice(0, 8)}`, {
    checkpointer: new MemorySaver(),
    summaryModel,
    maxTokensBeforeSummary: 500,
    messagesToKeep: 2,
  });
  await made.graph.updateState(inThread("t"), { messages: talkOf(20) });
  return made;
}

describe("The chat stream of a run that makes a summary", () => {
  it.each([
    ["invoke", ["messages"]],
    ["stream", ["messages", "values", "custom"]],
  ] as const)("has only the response if the summariser is called by %s", async (_how, streamMode) => {
    const { graph, summariser } = await longThread();
    const options = { ...inThread("t"), streamMode: [...streamMode] };
    const chunks = await allOf<[string, [{ text: string }]]>(graph.stream(user("hello"), options));
    const texts = chunks.flatMap(([mode, data]) => (mode === "messages" ? [data[0].text] : []));
    expect(summariser.requests).toHaveLength(1);
    expect(texts.join("")).toContain("answer to hello");
    expect(texts.join("")).not.toContain(SECRET);
  });

  it("has an event that says what is covered and what it saved", async () => {
    const { graph } = await longThread();
    const events = await eventsOf(graph, user("hello"), inThread("t"));
    const { values } = await graph.getState(inThread("t"));
    const summary = messagesOf(values).find((message) => coverageOf(message) !== undefined);
    const covered = summary && coverageOf(summary)?.messages;
    expect(covered).toContain("m0");
    expect(events).toEqual([{ type: "summary-made", covered, tokensSaved: expect.any(Number) }]);
    const [event] = events;
    if (event?.type === "summary-made") expect(event.tokensSaved).toBeGreaterThan(1000);
  });

  it("has an event if no summary was made, and the response anyway", async () => {
    const { graph } = await longThread(new FunctionModel(() => new Error("down")));
    expect(await eventsOf(graph, user("hello"), inThread("t"))).toEqual([
      { type: "summary-failed", reason: "The model failed: down", retryAfterTurns: 1 },
    ]);
    const { values } = await graph.getState(inThread("t"));
    expect(messagesOf(values)).toHaveLength(22);
    expect(messagesOf(values).at(-1)?.text).toBe("answer to hello");
  });

  it("has only the summary itself in the values", async () => {
    const { graph } = await longThread();
    const result = await graph.invoke(user("hello"), inThread("t"));
    expect(Object.keys(result)).toEqual(["messages"]);
    expect(messagesOf(result).filter(({ text }) => text.includes(SECRET))).toHaveLength(1);
  });
});

it("The wording of the graph is used", async () => {
  const { graph, summariser } = createLookGraph(() => "fine", {
    summaryLanguage: "zh",
    maxTokensBeforeSummary: 50,
    messagesToKeep: 1,
  });
  const messages = [...talkOf(8), { role: "user", content: "$&" }];
  const result = await graph.invoke({ messages } as never);
  expect(messagesOf(result).some(({ text }) => text === "## 对话历史摘要\n\nshort summary 0")).toBe(true);
  expect(summariser.requests[0]?.messages[0]?.text).toContain("摘要");
});
