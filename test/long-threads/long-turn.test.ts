/** One turn that is longer than the budget. */

import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createLookGraph, look, lookUp } from "../support/create-look-graph.js";
import { countToolTokens, coverageOf } from "../support/internals.js";
import { textOf } from "../support/long-histories.js";
import { type Answer, FunctionModel, shortSummariser } from "../support/models.js";
import { realCount, withRealUsage } from "../support/real-counts.js";
import { inThread, messagesOf, user } from "../support/thread.js";

const BUDGET = 2000;
const toolTokens = countToolTokens([look]);
const REQUEST = "Please visit all hundred places and tell me $& what you found.";

async function work(steps: number, tokens: number, summaryModel = shortSummariser(), batch = 1) {
  const { graph, model, summariser } = createLookGraph(
    ({ index, messages }) => {
      const callIds = Array.from({ length: batch }, (_, call) => `c${index % 7}-${call}`);
      const answer = index < steps ? lookUp(`${index}`, tokens, ...callIds) : new AIMessage("all done");
      return withRealUsage(answer, messages, toolTokens);
    },
    {
      summaryModel,
      maxTokensBeforeSummary: BUDGET,
      messagesToKeep: 4,
      maxIterations: 200,
      systemPrompt: textOf(50),
    },
  );
  const result = messagesOf(await graph.invoke(user(REQUEST)));
  return { result, model, summariser };
}

describe("A turn of many tool steps", () => {
  it("stays within the budget with few calls of the summariser, and its request is always there", async () => {
    const { result, model, summariser } = await work(100, 100);
    expect(result.at(-1)?.text).toBe("all done");
    expect(model.refused).toEqual([]);
    expect(model.requests).toHaveLength(101);
    for (const { messages } of model.requests) {
      expect(realCount(messages) + toolTokens).toBeLessThanOrEqual(BUDGET);
      expect(messages.filter(({ text }) => text.includes(REQUEST))).toHaveLength(1);
    }
    expect(summariser.requests.length).toBeGreaterThan(3);
    expect(summariser.requests.length).toBeLessThanOrEqual(20);
    expect(result.filter((message) => coverageOf(message) === undefined)).toHaveLength(202);
  });

  it.each<[title: string, steps: number, answer: Answer, most: number]>([
    ["the summariser always fails, and tries it only a few times", 60, () => new Error("down"), 20],
    ["summaries save almost nothing", 40, ({ text }) => text.slice(0, Math.floor(text.length * 0.85)), 20],
  ])("ends well even if %s", async (_title, steps, answer, most) => {
    const { result, model, summariser } = await work(steps, 100, new FunctionModel(answer));
    expect(result.at(-1)?.text).toBe("all done");
    expect(result.filter((message) => coverageOf(message) === undefined)).toHaveLength(2 * steps + 2);
    expect(model.refused).toEqual([]);
    expect(summariser.requests.length).toBeLessThan(most);
  });
});

describe("A batch of results that alone is longer than the limit of summaries", () => {
  it("reaches the model complete, because only the window shortens, and the next batch has it covered", async () => {
    const { result, model } = await work(2, 800, shortSummariser(), 5);
    const last = model.requests.at(-1)?.messages ?? [];
    expect(model.refused).toEqual([]);
    const shown = last.filter(({ type }) => type === "tool");
    const stored = result.filter(({ type }) => type === "tool");
    expect(stored).toHaveLength(10);
    expect(shown.map(({ text }) => text)).toEqual(stored.slice(5).map(({ text }) => text));
    for (const [index, { text }] of shown.entries()) expect(text).toContain(`found-1.${index}`);
  });
});

it("The trigger counts the system prompt and the schemas of the tools", async () => {
  const ask = async (systemPrompt: string, tokens: number) => {
    const { graph, summariser } = createLookGraph(() => "fine", {
      checkpointer: new MemorySaver(),
      systemPrompt,
      maxTokensBeforeSummary: tokens,
      messagesToKeep: 2,
    });
    for (let turn = 0; turn < 5; turn += 1)
      await graph.invoke(user(textOf(30, `turn ${turn}`)), inThread("t"));
    return summariser.requests.length;
  };
  expect(await ask("Short.", 250 + toolTokens)).toBe(0);
  expect(await ask(textOf(200), 250 + toolTokens)).toBeGreaterThan(0);
  expect(await ask("Short.", 120)).toBeGreaterThan(0);
});
