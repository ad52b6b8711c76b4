import { AIMessage } from "@langchain/core/messages";
import { InMemoryStore } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Answer, FunctionModel, shortSummariser } from "../../support/function-model.js";
import { turnsOf } from "../../support/long-histories.js";
import { summarizeOnce } from "../../support/run-summarize.js";
import { turns } from "../../support/turns.js";

const history = turnsOf(12, 60);
const HEADING = "## Summary of the conversation so far";

const cutOff = (response_metadata: object) =>
  new AIMessage({ content: "half of it", response_metadata: { ...response_metadata } });

/** The behaviour of a summariser, and the reason in the event. */
const failures: readonly (readonly [title: string, answer: Answer, reason: RegExp])[] = [
  ["throws", () => new Error("503 overloaded"), /503 overloaded/],
  ["throws a value that is not an error", () => Promise.reject("broken"), /broken/],
  ["hangs until it is aborted", ({ signal }) => untilAborted(signal), /within 50 ms/],
  ["hangs forever", () => new Promise<never>(() => {}), /within 50 ms/],
  ["responds too late", ({ signal }) => lateAnswer(signal), /within 50 ms/],
  ["returns nothing", () => "", /is empty/],
  ["returns only whitespace", () => " \n\t ", /is empty/],
  ["returns only its heading", () => `${HEADING}\n\n`, /has no text/],
  ["returns a tool call", () => called(), /has no text/],
  ["returns only reasoning", () => thought(), /is empty/],
  ["is cut off, in OpenAI's form", () => cutOff({ finish_reason: "length" }), /cut off/],
  ["is cut off, in Anthropic's form", () => cutOff({ stop_reason: "max_tokens" }), /cut off/],
  ["is cut off, in Gemini's form", () => cutOff({ finishReason: "MAX_TOKENS" }), /cut off/],
  ["is cut off, in Bedrock's form", () => cutOff({ stopReason: "max_tokens" }), /cut off/],
  ["is cut off, in Ollama's form", () => cutOff({ done_reason: "length" }), /cut off/],
  [
    "is cut off, in the form of OpenAI's Responses API",
    () => cutOff({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    /cut off/,
  ],
  ["returns more than it was given", ({ text }) => `${text} and more ${text}`, /not shorter/],
];

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")));
  });
}

async function lateAnswer(signal: AbortSignal | undefined): Promise<string> {
  await untilAborted(signal).catch(turns);
  return "late";
}

function called(): AIMessage {
  return new AIMessage({ content: "", tool_calls: [{ id: "c", name: "look", args: {} }] });
}

function thought(): AIMessage {
  return new AIMessage({ content: [{ type: "thinking", thinking: "hm" }] as never });
}

const unhandled: unknown[] = [];
const remember = (reason: unknown) => unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", remember);
});
afterEach(() => {
  process.off("unhandledRejection", remember);
});

describe("The history stays unchanged, and an event says why, if the summariser", () => {
  it.each(failures)("%s", async (_title, answer, reason) => {
    const model = new FunctionModel(answer);
    const pass = await summarizeOnce(history, model, { summaryTimeoutMs: 50 });
    expect(pass.messages).toEqual(history);
    expect(pass.summary).toBeUndefined();
    expect(pass.events).toEqual([
      { type: "summary-failed", reason: expect.stringMatching(reason), retryAfterTurns: 1 },
    ]);
    expect(pass.summaryAttempt).toMatchObject({ turn: "h11" });
    expect(model.requests).toHaveLength(1);
    await turns();
    await turns();
    expect(unhandled).toEqual([]);
  });

  it("fails in one of several steps", async () => {
    const long = turnsOf(150, 100);
    const model = new FunctionModel(({ index }) => (index === 2 ? "" : "fine"));
    const pass = await summarizeOnce(long, model);
    expect(pass.messages).toEqual(long);
    expect(pass.events).toMatchObject([{ type: "summary-failed" }]);
    expect(model.requests).toHaveLength(3);
  });

  it("cannot be created", async () => {
    const resolveSummaryModel = () => Promise.reject(new Error("no such model"));
    const pass = await summarizeOnce(history, shortSummariser(), { resolveSummaryModel });
    expect(pass.messages).toEqual(history);
    expect(pass.events).toEqual([{ type: "summary-failed", reason: "no such model", retryAfterTurns: 1 }]);
  });

  it("works, but there is no store for the covered messages", async () => {
    const pass = await summarizeOnce(history, shortSummariser(), { coveredMessages: "archive" });
    expect(pass.messages).toEqual(history);
    expect(pass.events).toMatchObject([{ type: "summary-failed" }]);
  });

  it("works, but the store fails to write", async () => {
    const store = new InMemoryStore();
    store.put = () => Promise.reject(new Error("disk full"));
    const pass = await summarizeOnce(history, shortSummariser(), { coveredMessages: "archive", store });
    expect(pass.messages).toEqual(history);
    expect(pass.events).toEqual([{ type: "summary-failed", reason: "disk full", retryAfterTurns: 1 }]);
  });
});

it("A summary that grows with each step is rejected in the end, not stored", async () => {
  const long = turnsOf(60, 100);
  const model = new FunctionModel(({ text }) => `${text}\n${text}`);
  const pass = await summarizeOnce(long, model);
  expect(pass.messages).toEqual(long);
  expect(pass.events).toMatchObject([{ type: "summary-failed" }]);
});

it("A run that is cancelled while the summariser works ends as cancelled", async () => {
  const controller = new AbortController();
  const model = new FunctionModel(({ signal }) => {
    setImmediate(() => controller.abort(new Error("cancelled")));
    return untilAborted(signal);
  });
  const pass = summarizeOnce(history, model, { signal: controller.signal });
  await expect(pass).rejects.toThrow("cancelled");
});

it("A summary does not grow beyond the budget, however many turns there are", async () => {
  let { messages } = await summarizeOnce(history, shortSummariser());
  let longest = 0;
  // It repeats nearly all that it reads.
  const model = new FunctionModel(({ text }) => text.slice(0, Math.floor(text.length * 0.9)));
  for (let turn = 0; turn < 15; turn += 1) {
    const more = turnsOf(4, 60).map((message) => Object.assign(message, { id: `${turn}-${message.id}` }));
    const pass = await summarizeOnce([...messages, ...more], model);
    messages = pass.messages;
    if (pass.summary !== undefined) longest = Math.max(longest, pass.summary.text.length / 4);
  }
  expect(longest).toBeLessThan(1_000);
});
