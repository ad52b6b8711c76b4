import { describe, expect, it } from "vitest";
import { InvalidSettingError, toModelInput, validateHistory } from "../../../src/index.js";

describe.each([
  ["validateHistory", (dialect: unknown) => validateHistory([], dialect as never)],
  ["toModelInput", (dialect: unknown) => toModelInput([], { dialect: dialect as never })],
] as const)("%s", (_name, ask) => {
  it.each(["opnai", "OpenAI", "constructor", 7])(
    "refuses the dialect %j and names those that there are",
    (dialect) => {
      expect(() => ask(dialect)).toThrow(InvalidSettingError);
      expect(() => ask(dialect)).toThrow(
        `Expected \`dialect\` to be one of openai, openai-responses, dashscope, dashscope-native, deepseek, anthropic, gemini, mistral, openai-compatible, anthropic-openai, gemini-openai, mistral-openai, strict, got \`${JSON.stringify(dialect)}\`.`,
      );
    },
  );

  it("asks whether a similar name was meant", () => {
    expect(() => ask("antropic")).toThrow(/got `"antropic"`\. Did you mean `anthropic`\?$/);
    expect(() => ask(7)).toThrow(/got `7`\.$/);
  });

  it("accepts a known dialect", () => {
    expect(() => ask("mistral")).not.toThrow();
  });
});
