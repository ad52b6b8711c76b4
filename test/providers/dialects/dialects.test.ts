import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { InvalidSettingError, toModelInput, validateHistory } from "../../../src/index.js";
import type { StatedRule } from "../../../src/providers/contract/rule.js";
import { REASONING_FIELD } from "../../../src/providers/host-fields/fields.js";
import { RULES } from "../../../src/providers/rules/rules.js";
import { DIALECT_NAMES, dialectNamed } from "../../../src/providers/table/dialects.js";

/** A page on GitHub: an issue, a pull request, or a file. */
const PAGE = /^[\w.-]+\/[\w.-]+\/(?:issues\/\d+|pull\/\d+|blob\/\S+)$/;

describe.each(DIALECT_NAMES)("%s", (name) => {
  const { rules, stateFields } = dialectNamed(name);
  const entries: [string, StatedRule][] = Object.entries(rules);
  it.each(entries)("has a source for %s unless it is inferred", (_name, { grade, source }) => {
    if (grade !== "inferred" || source !== undefined) expect(source).toMatch(PAGE);
  });

  it("states only rules that are looked for, each of them once", () => {
    const names = RULES.map((rule) => rule.name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(rules)));
    expect(names.length).toBe(new Set(names).size);
  });

  it("has no state that is sent to a model whose provider is unknown", () => {
    const kept = stateFields.filter((field) => field.name !== REASONING_FIELD);
    expect(dialectNamed("strict").stateFields).toEqual(expect.arrayContaining(kept));
  });
});

it.each(["anthropic", "strict"] as const)("%s sees a call that is only a block of the content", (dialect) => {
  const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
  const history = [new HumanMessage("go"), new AIMessage({ content: [call] }), new HumanMessage("and now?")];
  expect(validateHistory(history, dialect).map(({ rule }) => rule)).toContain("missing-result");
});

describe.each([
  ["validateHistory", (dialect: unknown) => validateHistory([], dialect as never)],
  ["toModelInput", (dialect: unknown) => toModelInput([], { dialect: dialect as never })],
] as const)("%s", (_name, ask) => {
  it.each(["opnai", "OpenAI", "constructor", 7])(
    "refuses the dialect %j and names those that there are",
    (dialect) => {
      expect(() => ask(dialect)).toThrow(InvalidSettingError);
      expect(() => ask(dialect)).toThrow(
        `Expected \`dialect\` to be one of openai, openai-responses, responses-compatible, dashscope, dashscope-native, deepseek, anthropic, gemini, mistral, bedrock, openai-compatible, xai, kimi, glm, minimax, anthropic-openai, gemini-openai, mistral-openai, as-stored, strict, got \`${JSON.stringify(dialect)}\`.`,
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
