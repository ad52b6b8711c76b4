import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { shouldSummarize } from "../../../src/threads/summary.js";
import { FunctionModel, shortSummariser } from "../../support/function-model.js";
import { humanOf, policyOf, stepOf, turnsOf } from "../../support/long-histories.js";
import { summarizeOnce } from "../../support/run-summarize.js";

const long = turnsOf(12, 60);
const policy = policyOf();

describe("A summary is tried", () => {
  it("when it is due", () => {
    expect(shouldSummarize({ messages: long }, policy)).toBe(true);
    expect(shouldSummarize({ messages: turnsOf(2) }, policy)).toBe(false);
  });

  it.each([
    ["failed", new FunctionModel(() => new Error("no"))],
    ["was made", shortSummariser()],
  ])("not again at the next step after one that %s", async (_title, model) => {
    const { messages, summaryAttempt } = await summarizeOnce(long, model);
    const next = [...messages, ...stepOf("next", 20)];
    expect(shouldSummarize({ messages: next, summaryAttempt }, policy)).toBe(false);
  });

  it("again in the next turn after one that failed", async () => {
    const { messages, summaryAttempt } = await summarizeOnce(long, new FunctionModel(() => new Error("no")));
    expect(shouldSummarize({ messages: [...messages, humanOf("h99")], summaryAttempt }, policy)).toBe(true);
  });

  it("again in the same turn when the input has grown a lot since a summary", async () => {
    const { messages, summaryAttempt } = await summarizeOnce(long, shortSummariser());
    const next = [...messages, ...stepOf("next", 1_600)];
    expect(shouldSummarize({ messages: next, summaryAttempt }, policy)).toBe(true);
  });

  it("not again in the same turn after one that failed, however much the input grows", async () => {
    const { messages, summaryAttempt } = await summarizeOnce(long, new FunctionModel(() => new Error("no")));
    const next = [...messages, ...stepOf("next", 6_000)];
    expect(shouldSummarize({ messages: next, summaryAttempt }, policy)).toBe(false);
  });

  it("after 1, 2, 4, 8 and then every 8 turns, while it fails", async () => {
    const model = new FunctionModel(() => new Error("no"));
    let messages: BaseMessage[] = [...long];
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
    expect(shouldSummarize({ messages: long, summaryAttempt }, policy)).toBe(true);
  });

  it("as usual after one that worked again", async () => {
    const { summaryAttempt } = await summarizeOnce(long, shortSummariser(), {
      summaryAttempt: { turn: "h1", tokens: 5_000, failures: 4 },
    });
    expect(summaryAttempt?.failures).toBeUndefined();
  });

  it("only a few times in a turn of a hundred steps, even if the summariser fails", async () => {
    for (const model of [shortSummariser(), new FunctionModel(() => new Error("no"))]) {
      let messages: BaseMessage[] = [humanOf("request")];
      let summaryAttempt: Awaited<ReturnType<typeof summarizeOnce>>["summaryAttempt"];
      for (let step = 0; step < 100; step += 1) {
        messages = [...messages, ...stepOf(`x${step}`, 60)];
        if (!shouldSummarize({ messages, summaryAttempt }, policy)) continue;
        const pass = await summarizeOnce(messages, model);
        messages = pass.messages;
        summaryAttempt = pass.summaryAttempt;
      }
      expect(model.requests.length).toBeGreaterThan(0);
      expect(model.requests.length).toBeLessThan(25);
    }
  });
});
