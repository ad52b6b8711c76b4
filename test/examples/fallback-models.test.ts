import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runScript } from "../scripts/run-script.js";
import {
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";

describe("the example of fallback models", { timeout: 60_000 }, () => {
  let openAI: StrictProvider;
  let anthropic: StrictProvider;
  beforeAll(async () => {
    [openAI, anthropic] = await Promise.all([
      startStrictProvider(({ messages }) =>
        messages.at(-1)?.role === "tool" ? { text: "It is clear." } : CALL,
      ),
      startStrictProvider(({ messages }) =>
        messages.at(-1)?.role === "tool" ? { text: "It is clear, says the second." } : CALL,
      ),
    ]);
  });
  afterAll(() => Promise.all([openAI.stop(), anthropic.stop()]));

  const CALL = { calls: [{ name: "sky", args: { city: "Paris" } }] };

  async function run(): Promise<string[]> {
    const script = runScript("../examples/fallback-models.ts", ["How is the sky?"], {
      OPENAI_API_KEY: "test-key",
      OPENAI_BASE_URL: `${openAI.url("openai")}/v1`,
      ANTHROPIC_API_KEY: "test-key",
      ANTHROPIC_BASE_URL: anthropic.url("anthropic"),
    });
    await script.ended;
    return script.output().trim().split("\n");
  }

  it("asks the first model while its provider works", async () => {
    expect(await run()).toEqual(["human: How is the sky?", "tool: Paris: clear sky", "ai: It is clear."]);
    expect(anthropic.requests).toEqual([]);
  });

  it("goes on with the second model while the first provider is down", async () => {
    openAI.failNext(...Array(9).fill({ status: 503 }));
    expect(await run()).toEqual([
      "human: How is the sky?",
      "(gpt-4o-mini failed, so claude-sonnet-4-5 is asked)",
      "tool: Paris: clear sky",
      "ai: It is clear, says the second.",
    ]);
    expect(anthropic.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  });
});
