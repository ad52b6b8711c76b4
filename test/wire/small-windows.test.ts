/**
 * Threads that outgrow the model's window, through the real clients, over HTTP. The provider refuses a request that is
 * too long in its own words. No turn fails, whatever the summariser does. `SLOW_TESTS=1` plays 60 turns of each thread,
 * and every summariser with every provider.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { clientOf, openAIAt, PROVIDERS } from "../support/clients.js";
import { turnsOf } from "../support/long-histories.js";
import { FunctionModel } from "../support/models.js";
import { openThread } from "../support/open-thread.js";
import {
  type ProviderName,
  type Reply,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";
import { answerOf, createWindowScript, PLACES } from "../support/window-script.js";

const IS_SLOW = process.env["SLOW_TESTS"] === "1";
const TURNS = IS_SLOW ? 60 : 5;
const WINDOW = 4000;

/** A budget that leaves room for what the library's count of tokens misses. */
const BUDGET = 3000;

/** The most requests of one turn: its two, those that are refused, and those for a summary. */
const MOST_REQUESTS = 15;
const { requestOf, resultOf, play, look } = createWindowScript(WINDOW);
type Options = Partial<AgentGraphOptions>;

const failing = new FunctionModel(() => new Error("The summariser is out of order."));
const endless = new FunctionModel(() => new Promise(() => {}));

const SUMMARISERS: readonly (readonly [title: string, options: Options])[] = [
  ["no summaries", { maxTokensBeforeSummary: 0 }],
  ["a summariser that works", { maxTokensBeforeSummary: BUDGET }],
  ["a budget beyond the window", { maxTokensBeforeSummary: 100 * WINDOW }],
  ["a summariser that fails", { maxTokensBeforeSummary: BUDGET, summaryModel: failing }],
  [
    "a summariser that is too slow",
    { maxTokensBeforeSummary: BUDGET, summaryModel: endless, summaryTimeoutMs: 5 },
  ],
];

const HOSTS: readonly (readonly [title: string, model: (strict: StrictProvider) => unknown])[] = [
  ...PROVIDERS.map((provider) => [provider, (strict: StrictProvider) => clientOf(provider, strict)] as const),
  // It names neither the window nor the length of the request.
  ["groq", (strict) => openAIAt(`${strict.url("groq")}/v1`, { model: "llama-3.3-70b" })],
];

/** Every host has a thread without summaries, and a thread with one of the summarisers. */
const THREADS = HOSTS.flatMap(([host, model], index) =>
  SUMMARISERS.filter((_, place) => IS_SLOW || place === 0 || place === 1 + (index % 4)).map(
    ([title, options]) => [host, title, model, options] as const,
  ),
);

/** Expects that every turn is answered, and stored as it was. */
async function playThread(strict: StrictProvider, model: unknown, options: Options): Promise<void> {
  const graph = createAgentGraph({
    model: model as BaseChatModel,
    tools: [look],
    checkpointer: new MemorySaver(),
    ...options,
  });
  // Most of the time of a long thread goes into its checkpoints, so there is one for each turn.
  const thread = openThread(graph, "1", { durability: "exit" });
  for (let turn = 0; turn < TURNS; turn += 1) {
    const served = strict.requests.length;
    const { error } = await thread.send(requestOf(turn));
    expect(error).toBeUndefined();
    const stored = (await thread.read()).slice(-5);
    expect(stored.map(({ text }) => text)).toEqual([
      requestOf(turn),
      "",
      ...PLACES.map((place) => resultOf(place, turn)),
      answerOf(turn),
    ]);
    expect(strict.requests.length - served).toBeLessThan(MOST_REQUESTS);
  }
}

/** A provider for one test. It keeps all its requests, which are hundreds of megabytes for many long threads. */
async function start(charactersPerToken: number): Promise<StrictProvider> {
  const strict = await startStrictProvider(({ messages }) => play(messages), {
    window: { tokens: WINDOW, charactersPerToken },
    chunkSize: 4000,
  });
  onTestFinished(() => strict.stop());
  return strict;
}

const TIMEOUT = TURNS * 10_000;

describe("a model with a small window answers every turn", () => {
  it.each(THREADS)(
    "of %s, with %s",
    async (_host, _title, model, options) => {
      const strict = await start(4);
      await playThread(strict, await model(strict), options);
    },
    TIMEOUT,
  );

  it.each(HOSTS)("of %s, and its thread pays for the window once", async (_host, model) => {
    const strict = await start(4);
    const graph = createAgentGraph({
      model: (await model(strict)) as BaseChatModel,
      tools: [look],
      maxTokensBeforeSummary: 0,
      checkpointer: new MemorySaver(),
    });
    const refusalsOf = async (turn: number, thread: string) => {
      const served = strict.requests.length;
      await graph.invoke(user(requestOf(turn)), inThread(thread));
      return strict.requests.slice(served).filter(({ refusal }) => refusal !== undefined).length;
    };
    const first = await refusalsOf(1, "1");
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThanOrEqual(3);
    for (const turn of [2, 3, 4]) expect(await refusalsOf(turn, "1")).toBe(0);
    expect(await refusalsOf(1, "2")).toBeLessThanOrEqual(first);
  });
});

describe("a model that counts more tokens than the library answers every turn", () => {
  it.each(HOSTS)(
    "of %s",
    async (_host, model) => {
      const strict = await start(1.5);
      await playThread(strict, await model(strict), { maxTokensBeforeSummary: BUDGET });
    },
    TIMEOUT,
  );
});

// Summarisers over HTTP with incomplete responses, through the real clients and the graph.

const SUMMARY = "They spoke of this and that.";
const ATTEMPTS = 2;

/** Responses that are not a summary, and the reason in the event. */
const BROKEN: readonly (readonly [title: string, reply: Reply, reason: RegExp])[] = [
  ["that is cut off at its token limit", { text: "They spoke of", finish: "length" }, /cut off/],
  ["that is empty", { text: "" }, /is empty/],
  ["that is lost on its way", { body: '{"id":"x","choices":[{"ind' }, /did not arrive/],
];

let replies: Reply[] = [];
let served = 0;
const strict = stopAtEnd(await startStrictProvider(() => replies.shift() ?? { text: SUMMARY }));

beforeEach(() => {
  served = strict.requests.length;
  replies = [];
});

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
