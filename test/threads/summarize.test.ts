import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SUMMARY_LANGUAGES } from "../../src/threads/shared-settings.js";
import { turns } from "../support/async.js";
import {
  countTextTokens,
  coverageOf,
  reduceMessages,
  shouldSummarize,
  summaryWording,
} from "../support/internals.js";
import { humanOf, policyOf, squeeze, stepOf, tokensOf, turnsOf } from "../support/long-histories.js";
import { ai, human, result } from "../support/make-messages.js";
import { type Answer, FunctionModel, shortSummariser } from "../support/models.js";
import { outline, snapshot } from "../support/plain-messages.js";
import { summarizeOnce, transcriptsOf } from "../support/run-summarize.js";
import { rowsOf } from "../support/test-tools.js";

const history = turnsOf(12, 60);
/** Turns after those. */
const more = () => turnsOf(30, 60).slice(48);
const HEADING = "## Summary of the conversation so far";

describe("A summary", () => {
  it("comes under its heading, after the messages that it covers, and names them", async () => {
    const { summary, messages, covered } = await summarizeOnce(history, shortSummariser());
    expect(summary?.text).toBe(`${HEADING}\n\nshort summary 0`);
    expect(covered).toEqual(history.slice(0, covered.length).map(({ id }) => id));
    expect(covered.length).toBeGreaterThan(30);
    expect(messages.indexOf(summary as BaseMessage)).toBe(-1);
    expect(messages[covered.length]?.text).toBe(summary?.text);
    expect(messages).toHaveLength(history.length + 1);
  });

  it("is reported by an event with the covered messages and the saved tokens", async () => {
    const { summary, covered, events } = await summarizeOnce(history, shortSummariser());
    const replaced = tokensOf(history.slice(0, covered.length));
    const tokensSaved = replaced - tokensOf([new HumanMessage(summary?.text ?? "")]);
    expect(events).toMatchObject([{ type: "summary-made", covered, tokensSaved }]);
  });

  it("does not change the messages that it covers", async () => {
    const before = snapshot(history);
    await summarizeOnce(history, shortSummariser());
    expect(snapshot(history)).toEqual(before);
  });

  it("has its heading only once if the summariser also wrote it", async () => {
    const model = new FunctionModel(() => `${HEADING}\n\nall of it`);
    expect((await summarizeOnce(history, model)).summary?.text).toBe(`${HEADING}\n\nall of it`);
  });

  it("is not made if only the request could be covered, and that is not a failure", async () => {
    const model = shortSummariser();
    const { summary, events, summaryAttempt } = await summarizeOnce([humanOf("request", 5000)], model);
    expect([summary, events, model.requests]).toEqual([undefined, [], []]);
    expect(summaryAttempt).toMatchObject({ turn: "request" });
  });
});

describe("The summariser is shown", () => {
  it("no message that stays", async () => {
    const model = shortSummariser();
    const { covered } = await summarizeOnce(history, model);
    const [transcript = ""] = transcriptsOf(model);
    for (const { text } of history.slice(covered.length))
      if (text !== "") expect(transcript).not.toContain(text);
  });

  it("a user's words literally", async () => {
    const text = "$& $1 $$ $` $' {messages} {x} %s \\n <b>";
    const model = shortSummariser();
    await summarizeOnce([new HumanMessage({ id: "h", content: text }), ...history], model);
    expect(transcriptsOf(model)[0]).toContain(text);
    const again = shortSummariser();
    const first = await summarizeOnce(history, new FunctionModel(() => text));
    await summarizeOnce(reduceMessages(first.messages, more()).messages, again);
    expect(again.requests[0]?.text).toContain(text);
  });

  it("a long conversation in steps, each with the summary so far", async () => {
    const long = turnsOf(150, 100);
    const model = shortSummariser();
    const { covered, summary } = await summarizeOnce(long, model);
    expect(model.requests.length).toBeGreaterThan(3);
    for (const [index, { text }] of model.requests.entries()) {
      expect(countTextTokens(text)).toBeLessThan(4_200);
      if (index > 0) expect(text).toContain(`short summary ${index - 1}`);
    }
    expect(summary?.text).toContain(`short summary ${model.requests.length - 1}`);
    const shown = squeeze(transcriptsOf(model).join(""));
    for (const { text } of long.slice(0, covered.length)) expect(shown).toContain(squeeze(text));
  });

  it("one message in steps if it is longer than a step", async () => {
    const model = shortSummariser();
    const start = [humanOf("h", 10_000), ...history];
    await summarizeOnce(start, model);
    expect(model.requests.length).toBeGreaterThan(2);
    expect(squeeze(transcriptsOf(model).join(""))).toContain(squeeze(start[0]?.text ?? "?"));
  });
});

describe("The next summary", () => {
  it("includes the previous one, and names the messages of both", async () => {
    const first = await summarizeOnce(history, shortSummariser());
    const model = new FunctionModel(() => "second");
    const second = await summarizeOnce(reduceMessages(first.messages, more()).messages, model);
    const [former] = first.messages.filter((message) => coverageOf(message) !== undefined);
    expect(model.requests[0]?.text).toContain("short summary 0");
    expect(model.requests[0]?.text).not.toContain(HEADING);
    expect(second.covered).toContain(former?.id);
    for (const id of first.covered) expect(second.covered).not.toContain(id);
  });

  /** What the second summariser is asked if a result came late in between. */
  async function askedWithLate(content: string) {
    const first = await summarizeOnce([human("hx"), ai("ax", "c"), ...history], shortSummariser());
    const late = Object.assign(result("late", "c", content), { name: "tool_c" });
    const model = shortSummariser();
    await summarizeOnce(reduceMessages(first.messages, [late, ...more()]).messages, model);
    return model.requests.map(({ text }) => text);
  }

  it("includes late results, with the tool that returned them", async () => {
    const [text] = await askedWithLate("12 degrees");
    expect(text).toContain("12 degrees");
    expect(text).toContain("tool_c");
  });

  it("also reads a long late result in steps", async () => {
    for (const text of await askedWithLate("12 degrees ".repeat(5_000)))
      expect(countTextTokens(text)).toBeLessThan(5_000);
  });
});

it("A batch inside the current turn is covered completely, and the user's request stays", async () => {
  const steps = Array.from({ length: 12 }, (_, step) => stepOf(`x${step}`, 100, "a", "b")).flat();
  const { messages, covered } = await summarizeOnce([humanOf("request"), ...steps], shortSummariser());
  expect(covered).not.toContain("request");
  expect(outline(messages).split(" ")[0]).toBe("request");
  expect(covered.length % 3).toBe(0);
});

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")));
  });
}

const cutOff = (response_metadata: object) => () =>
  new AIMessage({ content: "half of it", response_metadata: { ...response_metadata } });

/** The behaviour of a summariser, and the reason in the event. */
const failures = rowsOf<[answer: Answer, reason: RegExp]>({
  throws: [() => new Error("503 overloaded"), /503 overloaded/],
  "throws a value that is not an error": [() => Promise.reject("broken"), /broken/],
  "hangs until it is aborted": [({ signal }) => untilAborted(signal), /within 50 ms/],
  "hangs forever": [() => new Promise<never>(() => {}), /within 50 ms/],
  "responds too late": [
    ({ signal }) =>
      untilAborted(signal)
        .catch(turns)
        .then(() => "late"),
    /within 50 ms/,
  ],
  "returns nothing": [() => "", /is empty/],
  "returns only whitespace": [() => " \n\t ", /is empty/],
  "returns only its heading": [() => `${HEADING}\n\n`, /has no text/],
  "returns a tool call": [() => ai("a", "c"), /has no text/],
  "returns only reasoning": [
    () => new AIMessage({ content: [{ type: "thinking", thinking: "hm" }] as never }),
    /is empty/,
  ],
  "is cut off, in OpenAI's form": [cutOff({ finish_reason: "length" }), /cut off/],
  "is cut off, in Anthropic's form": [cutOff({ stop_reason: "max_tokens" }), /cut off/],
  "is cut off, in Gemini's form": [cutOff({ finishReason: "MAX_TOKENS" }), /cut off/],
  "is cut off, in Bedrock's form": [cutOff({ stopReason: "max_tokens" }), /cut off/],
  "is cut off, in Ollama's form": [cutOff({ done_reason: "length" }), /cut off/],
  "is cut off, in the form of OpenAI's Responses API": [
    cutOff({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    /cut off/,
  ],
  "returns more than it was given": [({ text }) => `${text} and more ${text}`, /not shorter/],
});

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
    expect(pass.events).toMatchObject([
      { type: "summary-failed", reason: expect.stringMatching(reason), retryAfterTurns: 1 },
    ]);
    expect(pass.summaryAttempt).toMatchObject({ turn: "h11" });
    expect(model.requests).toHaveLength(1);
    await turns();
    await turns();
    expect(unhandled).toEqual([]);
  });

  it.each<[title: string, answer: Answer, requests: number]>([
    ["fails in one of several steps", ({ index }) => (index === 2 ? "" : "fine"), 3],
    // It is rejected in the end, not stored.
    ["writes a summary that grows with each step", ({ text }) => `${text}\n${text}`, 4],
  ])("%s", async (_title, answer, requests) => {
    const long = turnsOf(150, 100);
    const model = new FunctionModel(answer);
    const pass = await summarizeOnce(long, model);
    expect(pass.messages).toEqual(long);
    expect(pass.events).toMatchObject([{ type: "summary-failed" }]);
    expect(model.requests).toHaveLength(requests);
  });

  it.each<[title: string, options: Parameters<typeof summarizeOnce>[2], reason: unknown]>([
    [
      "cannot be created",
      { resolveSummaryModel: () => Promise.reject(new Error("no such model")) },
      "no such model",
    ],
  ])("%s", async (_title, options, reason) => {
    const pass = await summarizeOnce(history, shortSummariser(), options);
    expect(pass.messages).toEqual(history);
    expect(pass.events).toMatchObject([{ type: "summary-failed", reason, retryAfterTurns: 1 }]);
  });
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

const policy = policyOf();

const failing = () => new FunctionModel(() => new Error("no"));

describe("A summary is tried", () => {
  it.each([
    ["not again at the next step after one that failed", failing(), stepOf("next", 20), false],
    ["not again at the next step after one that was made", shortSummariser(), stepOf("next", 20), false],
    ["again in the next turn after one that failed", failing(), [humanOf("h99")], true],
    ["again in the same turn when the input has grown a lot", shortSummariser(), stepOf("next", 1_600), true],
    [
      "not again in the same turn after one that failed, however much the input grows",
      failing(),
      stepOf("next", 6_000),
      false,
    ],
  ])("%s", async (_title, model, added, isTried) => {
    const { messages, summaryAttempt } = await summarizeOnce(history, model);
    expect(shouldSummarize({ messages: [...messages, ...added], summaryAttempt }, policy)).toBe(isTried);
  });

  it("after 1, 2, 4, 8 and then every 8 turns, while it fails", async () => {
    const model = failing();
    let messages: BaseMessage[] = [...history];
    let summaryAttempt: Awaited<ReturnType<typeof summarizeOnce>>["summaryAttempt"];
    const tried: number[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      messages = [...messages, humanOf(`turn-${turn}`)];
      if (!shouldSummarize({ messages, summaryAttempt }, policy)) continue;
      tried.push(turn);
      // The state is saved between the turns.
      ({ summaryAttempt } = JSON.parse(
        JSON.stringify(await summarizeOnce(messages, model, { summaryAttempt })),
      ));
    }
    expect(tried).toEqual([0, 1, 3, 7, 15, 23, 31, 39]);
    expect(model.requests).toHaveLength(tried.length);
  });

  it("at once after a failure whose turn is not in the thread any more", async () => {
    const summaryAttempt = { turn: "gone", tokens: 5_000, failures: 4 };
    expect(shouldSummarize({ messages: history, summaryAttempt }, policy)).toBe(true);
  });

  it("as usual after one that worked again", async () => {
    const { summaryAttempt } = await summarizeOnce(history, shortSummariser(), {
      summaryAttempt: { turn: "h1", tokens: 5_000, failures: 4 },
    });
    expect(summaryAttempt?.failures).toBeUndefined();
  });
});

describe.each(SUMMARY_LANGUAGES)("A request in %s", (language) => {
  const { request } = summaryWording(language);

  it("contains the summary so far and the transcript literally", () => {
    const text = request("$& before", "$1 since");
    expect(text.indexOf("$& before")).toBeGreaterThan(0);
    expect(text.indexOf("$1 since")).toBeGreaterThan(text.indexOf("$& before"));
  });

  it("does not mention a summary if there is none", () => {
    expect(request("", "since")).not.toBe(request("x", "since").replace("x", ""));
    expect(request("", "since").endsWith("since")).toBe(true);
  });
});
