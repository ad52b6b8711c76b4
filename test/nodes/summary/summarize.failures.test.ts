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

/** What a summariser does, and what the event says of it. */
const failures: readonly (readonly [title: string, answer: Answer, reason: RegExp])[] = [
  ["throws", () => new Error("503 overloaded"), /503 overloaded/],
  ["throws what is no error", () => Promise.reject("broken"), /broken/],
  ["hangs until it is aborted", ({ signal }) => untilAborted(signal), /within 50 ms/],
  ["hangs for ever", () => new Promise<never>(() => {}), /within 50 ms/],
  ["answers too late", ({ signal }) => lateAnswer(signal), /within 50 ms/],
  ["answers nothing", () => "", /nothing/],
  ["answers blanks", () => " \n\t ", /nothing/],
  ["answers its heading only", () => `${HEADING}\n\n`, /nothing/],
  ["answers with a call", () => called(), /nothing/],
  ["answers with its reasoning only", () => thought(), /nothing/],
  ["is cut off, as OpenAI says it", () => cutOff({ finish_reason: "length" }), /cut off/],
  ["is cut off, as Anthropic says it", () => cutOff({ stop_reason: "max_tokens" }), /cut off/],
  ["is cut off, as Gemini says it", () => cutOff({ finishReason: "MAX_TOKENS" }), /cut off/],
  ["is cut off, as Bedrock says it", () => cutOff({ stopReason: "max_tokens" }), /cut off/],
  ["is cut off, as Ollama says it", () => cutOff({ done_reason: "length" }), /cut off/],
  [
    "is cut off, as OpenAI's responses say it",
    () => cutOff({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    /cut off/,
  ],
  ["answers more than it was given", ({ text }) => `${text} and more ${text}`, /no shorter/],
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

describe("The history stays as it was, and an event says why, if the summariser", () => {
  it.each(failures)("%s", async (_title, answer, reason) => {
    const model = new FunctionModel(answer);
    const pass = await summarizeOnce(history, model, { summaryTimeoutMs: 50 });
    expect(pass.messages).toEqual(history);
    expect(pass.summary).toBeUndefined();
    expect(pass.events).toEqual([{ type: "summary-failed", reason: expect.stringMatching(reason) }]);
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

  it("cannot be had", async () => {
    const resolveSummaryModel = () => Promise.reject(new Error("no such model"));
    const pass = await summarizeOnce(history, shortSummariser(), { resolveSummaryModel });
    expect(pass.messages).toEqual(history);
    expect(pass.events).toEqual([{ type: "summary-failed", reason: "no such model" }]);
  });

  it("is fine, but there is no store for what it covers", async () => {
    const pass = await summarizeOnce(history, shortSummariser(), { coveredMessages: "archive" });
    expect(pass.messages).toEqual(history);
    expect(pass.events).toMatchObject([{ type: "summary-failed" }]);
  });

  it("is fine, but the store refuses to write", async () => {
    const store = new InMemoryStore();
    store.put = () => Promise.reject(new Error("disk full"));
    const pass = await summarizeOnce(history, shortSummariser(), { coveredMessages: "archive", store });
    expect(pass.messages).toEqual(history);
    expect(pass.events).toEqual([{ type: "summary-failed", reason: "disk full" }]);
  });
});

it("What grows with each step is refused in the end, not stored", async () => {
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

it("No number of turns lets a summary grow beyond the budget", async () => {
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
