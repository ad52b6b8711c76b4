/** Summarisers over HTTP with incomplete responses, through the real clients and the graph. */

import { MemorySaver } from "@langchain/langgraph";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { FunctionModel } from "../support/function-model.js";
import { turnsOf } from "../support/long-histories.js";
import { openThread } from "../support/open-thread.js";
import type { Reply } from "../support/strict-provider/reply.js";
import {
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { clientOf, PROVIDERS } from "./clients.js";

const SUMMARY = "They spoke of this and that.";
const ATTEMPTS = 2;

/** Responses that are not a summary, and the reason in the event. */
const BROKEN: readonly (readonly [title: string, reply: Reply, reason: RegExp])[] = [
  ["that is cut off at its token limit", { text: "They spoke of", finish: "length" }, /cut off/],
  ["that is empty", { text: "" }, /is empty/],
  ["that is lost on its way", { body: '{"id":"x","choices":[{"ind' }, /did not arrive/],
];

let strict: StrictProvider;
let replies: Reply[] = [];
let served = 0;
beforeAll(async () => {
  strict = await startStrictProvider(() => replies.shift() ?? { text: SUMMARY });
});
beforeEach(() => {
  served = strict.requests.length;
  replies = [];
});
afterAll(() => strict.stop());

async function runOnce(provider: ProviderName) {
  const graph = createAgentGraph({
    model: new FunctionModel(() => "Gladly."),
    summaryModel: await clientOf(provider, strict),
    checkpointer: new MemorySaver(),
    maxTokensBeforeSummary: 500,
    messagesToKeep: 4,
    maxStreamFallbackAttempts: ATTEMPTS,
  });
  const thread = openThread(graph);
  await graph.updateState({ configurable: { thread_id: "1" } }, { messages: turnsOf(12, 60) });
  const before = await thread.read();
  const { error, events, messages } = await thread.send("Go on.");
  expect(error).toBeUndefined();
  expect(messages.map(({ text }) => text)).toContain("Gladly.");
  expect(messages.map(({ text }) => text).join()).not.toContain("They spoke");
  return { before, events, after: await thread.read() };
}

const requests = () => strict.requests.slice(served).map(({ streams }) => streams);

describe.each(PROVIDERS)("%s: a summary", (provider) => {
  it.each(BROKEN)("%s each time is not stored, and the history stays unchanged", async (_, reply, reason) => {
    replies = Array(ATTEMPTS + 1).fill(reply);
    const { before, events, after } = await runOnce(provider);
    expect(events).toMatchObject([
      { type: "summary-failed", reason: expect.stringMatching(reason), retryAfterTurns: 1 },
      { type: "run-end", usedFallback: false },
    ]);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length).map(({ text }) => text)).toEqual(["Go on.", "Gladly."]);
    expect(requests()).toEqual(Array(ATTEMPTS + 1).fill(false));
  });

  it.each(BROKEN)("%s once is requested again and stored", async (_, reply) => {
    replies = [reply];
    const { events, after } = await runOnce(provider);
    expect(events.map(({ type }) => type)).toEqual(["summary-made", "run-end"]);
    expect(after.filter(({ text }) => text.includes(SUMMARY))).toHaveLength(1);
    expect(requests()).toEqual([false, false]);
  });
});
