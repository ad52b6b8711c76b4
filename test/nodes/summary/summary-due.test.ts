import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { shouldSummarize } from "../../../src/nodes/summary/summary-due.js";
import { createSummaryPolicy } from "../../../src/settings/summary-policy.js";
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

  it("again in the same turn when the input has grown a lot", async () => {
    const { messages, summaryAttempt } = await summarizeOnce(long, new FunctionModel(() => new Error("no")));
    const next = [...messages, ...stepOf("next", 600)];
    expect(shouldSummarize({ messages: next, summaryAttempt }, policy)).toBe(true);
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

describe("The policy of a run", () => {
  const search = tool(async () => "", {
    name: "search",
    description: "Finds things. ".repeat(20),
    schema: z.object({ text: z.string() }),
  });

  it("has the documented defaults", () => {
    expect(createSummaryPolicy({}, [])({})).toEqual({
      maxTokens: 4000,
      maxMessages: 0,
      messagesToKeep: 20,
      tokensToKeep: undefined,
      toolTokens: 0,
      promptTokens: 0,
    });
  });

  it("counts the tools' schemas and the system prompt of the run or the graph", () => {
    const policyOfRun = createSummaryPolicy({ systemPrompt: "x".repeat(400) }, [search]);
    expect(policyOfRun({}).promptTokens).toBe(100);
    expect(policyOfRun({ systemPrompt: "x".repeat(40) }).promptTokens).toBe(10);
    expect(policyOfRun({}).toolTokens).toBeGreaterThan(70);
  });

  it("comes from its context, or else from the graph's settings", () => {
    const policyOfRun = createSummaryPolicy({ maxTokensBeforeSummary: 900, messagesToKeep: 5 }, []);
    expect(policyOfRun({})).toMatchObject({ maxTokens: 900, messagesToKeep: 5 });
    expect(policyOfRun({ maxTokensBeforeSummary: 0 })).toMatchObject({ maxTokens: 0, messagesToKeep: 5 });
    expect(policyOfRun({ maxTokensBeforeSummary: undefined })).toMatchObject({ maxTokens: 900 });
  });

  it("keeps as many messages as its context says, even if the graph counts tokens", () => {
    const policyOfRun = createSummaryPolicy({ tokensToKeep: 500 }, []);
    expect(policyOfRun({ messagesToKeep: 3 })).toMatchObject({ messagesToKeep: 3, tokensToKeep: undefined });
  });
});
