import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { planAgent } from "../../src/agent/plan.js";
import { type RunContext, settingsInRun } from "../../src/agent/settings/run-context.js";
import { resolveSettings, type SettingsOptions } from "../../src/agent/settings/settings.js";
import { learnWindow } from "../../src/providers/failure/overflow.js";
import { createModel } from "../../src/providers/models/create-model.js";
import { summaryPolicy } from "../../src/threads/summary-settings.js";

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
      maxTokens: 0,
      maxMessages: 0,
      messagesToKeep: 20,
      tokensToKeep: undefined,
      maxToolCalls: undefined,
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
    const options = { systemPrompt: "x".repeat(400) };
    expect(policyFor(options).promptTokens).toBe(100);
    expect(policyFor(options, undefined, { systemPrompt: "x".repeat(40) }).promptTokens).toBe(10);
    expect(planAgent({ model: "offline:", tools: [search] }).toolTokens).toBeGreaterThan(70);
  });

  it.each<[graph: Partial<SettingsOptions>, run: RunContext, policy: object]>([
    [{ maxTokensBeforeSummary: 900, messagesToKeep: 5 }, {}, { maxTokens: 900, messagesToKeep: 5 }],
    [
      { maxTokensBeforeSummary: 900, messagesToKeep: 5 },
      { maxTokensBeforeSummary: 0 },
      { maxTokens: 0, messagesToKeep: 5 },
    ],
    [{ maxTokensBeforeSummary: 900 }, { maxTokensBeforeSummary: undefined }, { maxTokens: 900 }],
    [{ tokensToKeep: 500 }, {}, { tokensToKeep: 500 }],
    [{ tokensToKeep: 500 }, { messagesToKeep: 3 }, { messagesToKeep: 3, tokensToKeep: undefined }],
    [{ tokensToKeep: 500 }, { tokensToKeep: 70 }, { tokensToKeep: 70 }],
  ])("of a graph with %o and a run with %o has %o", (graph, run, policy) => {
    expect(policyFor(graph, undefined, run)).toMatchObject(policy);
  });
});

describe("The default token budget", () => {
  it.each([
    ["a window of 1,000 tokens", { maxInputTokens: 1000 }, 800],
    ["a window that does not divide", { maxInputTokens: 128_001 }, 102_400],
    ["a window of one token", { maxInputTokens: 1 }, 1],
    ["an empty profile", {}, 0],
    ["a window of 0", { maxInputTokens: 0 }, 0],
    ["a window that is not a number", { maxInputTokens: "128000" }, 0],
    ["a profile that is not an object", "large", 0],
    ["no profile", undefined, 0],
  ])("of a model with %s", (_title, profile, maxTokens) => {
    expect(policyFor({}, withProfile(profile))).toMatchObject({ maxTokens });
  });

  it("is 80 % of the window of a LangChain client", () => {
    const gpt = new ChatOpenAI({ model: "gpt-4o-mini", apiKey: "sk-none" });
    expect(gpt.profile.maxInputTokens).toBe(128_000);
    expect(policyFor({}, gpt)).toMatchObject({ maxTokens: 102_400 });
  });

  it("is none for the offline model, whose window is unknown", async () => {
    expect(policyFor({}, await createModel("offline:"))).toMatchObject({ maxTokens: 0 });
  });

  it("is 80 % of the window that a refusal taught, if that is the smaller one", () => {
    for (const [stated, learned, maxTokens] of [
      [undefined, 1000, 800],
      [2000, 1000, 800],
      [1000, 2000, 800],
    ] as const) {
      const model = withProfile({ maxInputTokens: stated });
      learnWindow(model, learned);
      expect(policyFor({}, model)).toMatchObject({ maxTokens });
    }
  });

  it("is not what a setting says, but a smaller learned window lowers a setting other than 0", () => {
    const model = withProfile({});
    learnWindow(model, 1000);
    for (const [given, maxTokens] of [
      [900, 800],
      [700, 700],
      [0, 0],
    ] as const)
      expect(policyFor({ maxTokensBeforeSummary: given }, model)).toMatchObject({ maxTokens });
  });

  it.each([0, 900])("needs no model if a setting says %i", (maxTokensBeforeSummary) => {
    const settings = resolveSettings({ model: "offline:", maxTokensBeforeSummary });
    expect(summaryPolicy(settings, undefined, undefined, 0).maxTokens).toBe(maxTokensBeforeSummary);
  });
});
