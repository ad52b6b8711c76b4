/** A graph that names no token limit takes it from the input window of its model. */

import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentGraphOptions, RunContext } from "../../../src/index.js";
import { createAgentGraph } from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { type Answer, FunctionModel, shortSummariser } from "../../support/function-model.js";
import { humanOf, tokensOf, turnsOf } from "../../support/long-histories.js";
import { calls } from "../../support/scripted-model.js";
import { WindowModel as RefusingModel } from "../../support/window-model.js";

class WindowModel extends FunctionModel {
  readonly #window: number | undefined;

  constructor(window: number | undefined, answer: Answer = () => "done") {
    super(answer);
    this.#window = window;
  }

  override get profile() {
    return this.#window === undefined ? {} : { maxInputTokens: this.#window };
  }
}

const history = [...turnsOf(50, 60), humanOf("request")];
const LENGTH = tokensOf(history);

async function run(
  window: number | undefined,
  options: Partial<AgentGraphOptions> = {},
  context: RunContext = {},
) {
  const model = new WindowModel(window);
  const summaryModel = shortSummariser();
  await createAgentGraph({ model, summaryModel, ...options }).invoke({ messages: history }, { context });
  expect(model.refused).toEqual([]);
  return { model, isSummarised: summaryModel.requests.length > 0 };
}

it("The history is longer than 4,000 tokens, and fits into 10,000", () => {
  expect(LENGTH).toBeGreaterThan(4_500);
  expect(LENGTH).toBeLessThan(7_500);
});

describe("A long history is summarised", () => {
  it.each([
    ["not at 80 % of a large window", 10_000, false],
    ["at 80 % of a small window", 5_000, true],
    ["not where the window is unknown", undefined, false],
  ])("%s", async (_title, window, expected) => {
    expect((await run(window)).isSummarised).toBe(expected);
  });

  it.each([
    ["never where the graph says 0", { maxTokensBeforeSummary: 0 }, {}, false],
    ["never where the run says 0", {}, { maxTokensBeforeSummary: 0 }, false],
    ["where the graph says so", { maxTokensBeforeSummary: 2_000 }, {}, true],
    ["where the run says so", {}, { maxTokensBeforeSummary: 2_000 }, true],
    [
      "where the run says so before the graph",
      { maxTokensBeforeSummary: 2_000 },
      { maxTokensBeforeSummary: 9_000 },
      false,
    ],
  ])("%s, whatever the window is", async (_title, options, context, expected) => {
    for (const window of [10_000, 5_000, undefined])
      expect((await run(window, options, context)).isSummarised).toBe(expected);
  });

  it.each(["createAgentGraph", "tetherMiddleware"])(
    "after a model of an unknown window has refused a request as too long, also in a later run of %s",
    async (agentOf) => {
      const model = new RefusingModel({ window: 4_000, family: "openai" });
      const summaryModel = shortSummariser();
      const checkpointer = new MemorySaver();
      const agent =
        agentOf === "createAgentGraph"
          ? createAgentGraph({ model, summaryModel, checkpointer })
          : createAgent({
              model,
              tools: [],
              checkpointer,
              middleware: [tetherMiddleware({ summary: { summaryModel } })],
            });
      const send = (messages: BaseMessage[]) =>
        agent.invoke({ messages }, { configurable: { thread_id: "1" } });
      await send([humanOf("a short request")]);
      expect(summaryModel.requests).toHaveLength(0);
      await send(history);
      expect(model.overflows.length).toBeGreaterThan(0);
      const refused = model.overflows.length;
      await send([humanOf("one more request")]);
      expect(summaryModel.requests.length).toBeGreaterThan(0);
      expect(model.overflows).toHaveLength(refused);
    },
  );

  it("by the window of the model that the run names, which is made by name", async () => {
    const summaryModel = shortSummariser();
    const graph = createAgentGraph({
      model: "openai:large",
      models: ["openai:small"],
      createModel: async (name) => new WindowModel(name === "openai:large" ? 10_000 : 5_000),
      summaryModel,
    });
    await graph.invoke({ messages: history });
    expect(summaryModel.requests).toHaveLength(0);
    await graph.invoke({ messages: history }, { context: { model: "openai:small" } });
    expect(summaryModel.requests.length).toBeGreaterThan(0);
  });

  it("in steps that fit into the window of the summariser", async () => {
    const summaryModel = new WindowModel(2_000, ({ index }) => `short summary ${index}`);
    await run(5_000, { summaryModel });
    expect(summaryModel.requests.length).toBeGreaterThan(1);
    for (const { messages } of summaryModel.requests) expect(tokensOf(messages)).toBeLessThan(2_000);
  });
});

describe("A tool result that alone exceeds the budget", () => {
  const look = tool(async () => "x".repeat(40_000), {
    name: "look",
    description: "Looks.",
    schema: z.object({}),
  });

  it.each([
    ["is shown whole where the window has room for it", 20_000, false],
    ["is shortened where the window has none", 5_000, true],
    ["is shown whole where the window is unknown", undefined, false],
  ])("%s", async (_title, window, isShortened) => {
    const model = new WindowModel(window, ({ index }) => (index === 0 ? calls(["look"]) : "done"));
    await createAgentGraph({ model, tools: [look] }).invoke({ messages: "look" });
    const shown = model.requests.at(-1)?.messages ?? [];
    expect(/shortened from 40000 characters/.test(shown.at(-1)?.text ?? "")).toBe(isShortened);
    expect(tokensOf(shown)).toBeLessThan((window ?? 20_000) * 0.8);
  });
});

describe("A model that cannot be made", () => {
  it("fails the run with the reason, and nothing of the input is lost", async () => {
    const graph = createAgentGraph({
      model: "openai:missing",
      createModel: () => Promise.reject(new Error("The package is missing.")),
      checkpointer: new MemorySaver(),
    });
    const thread = { configurable: { thread_id: "1" } };
    await expect(graph.invoke({ messages: history }, thread)).rejects.toThrow("The package is missing.");
    const { values } = await graph.getState(thread);
    expect(values.messages?.slice(-history.length).map(({ id }) => id)).toEqual(history.map(({ id }) => id));
  });
});
