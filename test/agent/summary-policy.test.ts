import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createSummaryPolicy } from "../../src/agent/plan.js";
import { resolveSettings, type SettingsOptions } from "../../src/agent/settings/settings.js";
import { learnWindow } from "../../src/providers/failure/overflow.js";
import { createModel } from "../../src/providers/models/create-model.js";

const withProfile = (profile: unknown) => ({ profile }) as unknown as BaseChatModel;

const policyFor = (
  options: Partial<SettingsOptions>,
  resolveModel: (name: string | undefined) => Promise<BaseChatModel> = async () => withProfile({}),
  tools: Parameters<typeof createSummaryPolicy>[1] = [],
) => createSummaryPolicy(resolveSettings({ model: "offline:", ...options }), tools, resolveModel);

describe("The policy of a run", () => {
  const search = tool(async () => "", {
    name: "search",
    description: "Finds things. ".repeat(20),
    schema: z.object({ text: z.string() }),
  });

  it("has the defaults of the settings", async () => {
    expect(await policyFor({})({})).toEqual({
      maxTokens: 0,
      maxMessages: 0,
      messagesToKeep: 20,
      tokensToKeep: undefined,
      maxToolCalls: undefined,
      toolTokens: 0,
      promptTokens: 0,
    });
  });

  it("counts the schemas of the tools and the system prompt of the graph or the run", async () => {
    const policyOf = policyFor({ systemPrompt: "x".repeat(400) }, undefined, [search]);
    expect((await policyOf({})).promptTokens).toBe(100);
    expect((await policyOf({ systemPrompt: "x".repeat(40) })).promptTokens).toBe(10);
    expect((await policyOf({})).toolTokens).toBeGreaterThan(70);
  });

  it("prefers the context of the run to the settings of the graph", async () => {
    const policyOf = policyFor({ maxTokensBeforeSummary: 900, messagesToKeep: 5 });
    expect(await policyOf({})).toMatchObject({ maxTokens: 900, messagesToKeep: 5 });
    expect(await policyOf({ maxTokensBeforeSummary: 0 })).toMatchObject({ maxTokens: 0, messagesToKeep: 5 });
    expect(await policyOf({ maxTokensBeforeSummary: undefined })).toMatchObject({ maxTokens: 900 });
  });

  it("keeps as many messages or tokens as the run says, or else as the graph says", async () => {
    const policyOf = policyFor({ tokensToKeep: 500 });
    expect(await policyOf({})).toMatchObject({ tokensToKeep: 500 });
    expect(await policyOf({ messagesToKeep: 3 })).toMatchObject({
      messagesToKeep: 3,
      tokensToKeep: undefined,
    });
    expect(await policyOf({ tokensToKeep: 70 })).toMatchObject({ tokensToKeep: 70 });
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
  ])("of a model with %s", async (_title, profile, maxTokens) => {
    expect(await policyFor({}, async () => withProfile(profile))({})).toMatchObject({ maxTokens });
  });

  it("is 80 % of the window of a LangChain client", async () => {
    const gpt = new ChatOpenAI({ model: "gpt-4o-mini", apiKey: "sk-none" });
    expect(gpt.profile.maxInputTokens).toBe(128_000);
    expect(await policyFor({}, async () => gpt)({})).toMatchObject({ maxTokens: 102_400 });
  });

  it("is none for the offline model, whose window is unknown", async () => {
    const offline = await createModel("offline:");
    expect(await policyFor({}, async () => offline)({})).toMatchObject({ maxTokens: 0 });
  });

  it("is 80 % of the window that a refusal taught, if that is the smaller one", async () => {
    for (const [stated, learned, maxTokens] of [
      [undefined, 1000, 800],
      [2000, 1000, 800],
      [1000, 2000, 800],
    ] as const) {
      const model = withProfile({ maxInputTokens: stated });
      learnWindow(model, learned);
      expect(await policyFor({}, async () => model)({})).toMatchObject({ maxTokens });
    }
  });

  it("is not what a setting says, but a smaller learned window lowers a setting other than 0", async () => {
    const model = withProfile({});
    learnWindow(model, 1000);
    for (const [given, maxTokens] of [
      [900, 800],
      [700, 700],
      [0, 0],
    ] as const)
      expect(await policyFor({ maxTokensBeforeSummary: given }, async () => model)({})).toMatchObject({
        maxTokens,
      });
  });

  it("is that of the model that the run names", async () => {
    const policyOf = policyFor({}, async (name) =>
      withProfile({ maxInputTokens: name === undefined ? 1000 : 2000 }),
    );
    expect(await policyOf({ model: "openai:other" })).toMatchObject({ maxTokens: 1600 });
    expect(await policyOf({})).toMatchObject({ maxTokens: 800 });
  });

  it("is read once for each model", async () => {
    const made: (string | undefined)[] = [];
    const policyOf = policyFor({}, async (name) => {
      made.push(name);
      return withProfile({});
    });
    for (const model of [undefined, "a:b", undefined, "a:b"]) await policyOf({ model });
    expect(made).toEqual([undefined, "a:b"]);
  });

  it.each([0, 900])("needs no model if the graph or the run says %i", async (maxTokensBeforeSummary) => {
    const resolve = async () => expect.unreachable("No model is needed.");
    expect(await policyFor({ maxTokensBeforeSummary }, resolve)({})).toMatchObject({
      maxTokens: maxTokensBeforeSummary,
    });
    expect(await policyFor({}, resolve)({ maxTokensBeforeSummary })).toMatchObject({
      maxTokens: maxTokensBeforeSummary,
    });
  });

  it("is none while the model cannot be made, and is read once it can", async () => {
    let isReady = false;
    const policyOf = policyFor({}, async () => {
      if (!isReady) throw new Error("The package is missing.");
      return withProfile({ maxInputTokens: 1000 });
    });
    expect(await policyOf({})).toMatchObject({ maxTokens: 0 });
    isReady = true;
    expect(await policyOf({})).toMatchObject({ maxTokens: 800 });
  });
});
