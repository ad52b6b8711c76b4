import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { shouldSummarize } from "../../../src/nodes/summary/summary-due.js";
import { FunctionModel, shortSummariser } from "../../support/function-model.js";
import { humanOf, policyOf, stepOf, turnsOf } from "../../support/long-histories.js";
import { summarizeOnce } from "../../support/run-summarize.js";

const long = turnsOf(12, 60);
const policy = policyOf();

describe("A summary is tried", () => {
  it("where it is due", () => {
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

  it("again in the same turn when the input has grown by much", async () => {
    const { messages, summaryAttempt } = await summarizeOnce(long, new FunctionModel(() => new Error("no")));
    const next = [...messages, ...stepOf("next", 600)];
    expect(shouldSummarize({ messages: next, summaryAttempt }, policy)).toBe(true);
  });

  it("few times in a turn of a hundred steps, whether the summariser works or fails", async () => {
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
