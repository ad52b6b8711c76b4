import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { planAgent } from "../../src/agent/plan.js";
import { settingsInRun } from "../../src/agent/settings/run-context.js";
import type { SettingsOptions } from "../../src/agent/settings/settings.js";
import { createModel, type RunContext } from "../../src/index.js";
import { learnWindow } from "../../src/providers/failure/overflow.js";
import { summaryPolicy } from "../../src/threads/shared-settings.js";
import { resolveSettings } from "../support/internals.js";

const withProfile = (profile: unknown) => ({ profile }) as unknown as BaseChatModel;

/** The policy in a run with this context, which asks this model. */
const policyFor = (
  options: Partial<SettingsOptions>,
  model: BaseChatModel | undefined = withProfile({}),
  context: RunContext = {},
) => {
  const settings = resolveSettings({ model: "offline:", ...options });
  return summaryPolicy(settingsInRun(settings, context), model, undefined, 0);
};

describe("The policy of a run", () => {
  it("has the defaults of the settings", () => {
    expect(policyFor({})).toEqual({
      maxTokensBeforeSummary: 0,
      maxMessagesBeforeSummary: 0,
      messagesToKeep: 6,
      tokensToKeep: undefined,
      maxToolCalls: undefined,
      compactedAt: undefined,
      mayHaveWritten: expect.any(Function),
      toolTokens: 0,
      promptTokens: 0,
    });
  });

  it("counts the schemas of the tools and the system prompt of the graph or the run", () => {
    const search = tool(async () => "", {
      name: "search",
      description: "Finds things. ".repeat(20),
      schema: z.object({ text: z.string() }),
    });
    const options = { systemPrompt: " word".repeat(100) };
    expect(policyFor(options).promptTokens).toBe(100);
    expect(policyFor(options, undefined, { systemPrompt: " word".repeat(10) }).promptTokens).toBe(10);
    expect(planAgent({ model: "offline:", tools: [search] }).toolTokens).toBeGreaterThan(60);
  });

  it.each<[graph: Partial<SettingsOptions>, run: RunContext, policy: object]>([
    [
      { maxTokensBeforeSummary: 900, messagesToKeep: 5 },
      {},
      { maxTokensBeforeSummary: 900, messagesToKeep: 5 },
    ],
    [
      { maxTokensBeforeSummary: 900, messagesToKeep: 5 },
      { maxTokensBeforeSummary: 0 },
      { maxTokensBeforeSummary: 0, messagesToKeep: 5 },
    ],
    [{ maxTokensBeforeSummary: 900 }, { maxTokensBeforeSummary: undefined }, { maxTokensBeforeSummary: 900 }],
    [{ tokensToKeep: 500 }, {}, { tokensToKeep: 500 }],
    [{ tokensToKeep: 500 }, { messagesToKeep: 3 }, { messagesToKeep: 3, tokensToKeep: undefined }],
    [{ tokensToKeep: 500 }, { tokensToKeep: 70 }, { tokensToKeep: 70 }],
  ])("of a graph with %o and a run with %o has %o", (graph, run, policy) => {
    expect(policyFor(graph, undefined, run)).toMatchObject(policy);
  });
});

/** A model whose profile states a window, and of which a refusal has taught one. */
function withWindows(stated: number | undefined, learned: number) {
  const model = withProfile({ maxInputTokens: stated });
  learnWindow(model, { window: learned, limit: learned, sent: learned + 1, isOfBytes: false }, learned);
  return model;
}

const offline = await createModel("offline:");

describe("The token budget", () => {
  const gpt = new ChatOpenAI({ model: "gpt-4o-mini", apiKey: "sk-none" });
  const setTo = (maxTokensBeforeSummary: number) => ({ maxTokensBeforeSummary });

  it.each<[title: string, model: BaseChatModel, maxTokens: number, options?: Partial<SettingsOptions>]>([
    ["80 % of a window of 1,000 tokens", withProfile({ maxInputTokens: 1000 }), 800],
    ["rounded down for a window that does not divide", withProfile({ maxInputTokens: 128_001 }), 102_400],
    ["1 for a window of one token", withProfile({ maxInputTokens: 1 }), 1],
    ["none for an empty profile", withProfile({}), 0],
    ["none for a window of 0", withProfile({ maxInputTokens: 0 }), 0],
    ["none for a window that is not a number", withProfile({ maxInputTokens: "128000" }), 0],
    ["none for a profile that is not an object", withProfile("large"), 0],
    ["none without a profile", withProfile(undefined), 0],
    ["80 % of the window of 128,000 tokens of a LangChain client", gpt, 102_400],
    ["none for the offline model, whose window is unknown", offline, 0],
    ["80 % of the window that a refusal taught", withWindows(undefined, 1000), 800],
    ["that of the taught window if it is smaller", withWindows(2000, 1000), 800],
    ["that of the stated window if it is smaller", withWindows(1000, 2000), 800],
    [
      "lowered to 80 % of a taught window if a setting says more",
      withWindows(undefined, 1000),
      800,
      setTo(900),
    ],
    ["what a setting says if that is less", withWindows(undefined, 1000), 700, setTo(700)],
    ["none if a setting says 0", withWindows(undefined, 1000), 0, setTo(0)],
  ])("is %s", (_title, model, maxTokens, options = {}) => {
    expect(policyFor(options, model)).toMatchObject({ maxTokensBeforeSummary: maxTokens });
  });

  it.each([0, 900])("needs no model if a setting says %i", (maxTokensBeforeSummary) => {
    const settings = resolveSettings({ model: "offline:", maxTokensBeforeSummary });
    expect(summaryPolicy(settings, undefined, undefined, 0).maxTokensBeforeSummary).toBe(
      maxTokensBeforeSummary,
    );
  });
});
