import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countTextTokens, sumTokens } from "../../../src/history/size.js";
import { reasoningOf } from "../../../src/providers/deepseek/dialect.js";
import { DIALECTS, type DialectName } from "../../../src/providers/dialects.js";
import { toModelInput } from "../../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../../src/providers/validate-history.js";
import { buildForeign, foreignHistories } from "../../support/dialect-arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../../support/expect-warnings.js";
import { runs } from "../../support/law-runs.js";

expectWarnings(OLD_PACKAGES);

const NAMES = Object.keys(DIALECTS) as DialectName[];
const TURNS = 20;
const BUDGET = 5_000;

/** Turns with a long result each, and with as much reasoning as a thinking model writes. */
function thinkingThread(): BaseMessage[] {
  return Array.from({ length: TURNS }, (_, turn) => [
    new HumanMessage(`look ${turn}`),
    new AIMessage({
      content: "",
      tool_calls: [{ id: `c${turn}`, name: "look", args: { turn } }],
      additional_kwargs: { reasoning_content: "I must look. ".repeat(40) },
    }),
    new ToolMessage({ content: "clear sky ".repeat(300), tool_call_id: `c${turn}` }),
  ]).flat();
}

describe.each(NAMES)("A model input for %s with a budget", (dialect) => {
  it("stays within the budget, including added messages and reasoning", () => {
    const input = toModelInput(thinkingThread(), { dialect, maxTokens: BUDGET });
    const reasoning = input.map((message) => countTextTokens(reasoningOf(message) ?? ""));
    const total = sumTokens(input) + reasoning.reduce((sum, tokens) => sum + tokens, 0);
    expect(total).toBeLessThanOrEqual(BUDGET);
    expect(total).toBeGreaterThan(BUDGET * 0.8);
  });

  it("breaks no rule of the dialect", () => {
    fc.assert(
      fc.property(foreignHistories(), fc.nat({ max: 200 }), (foreign, maxTokens) => {
        const input = toModelInput(buildForeign(foreign), { dialect, maxTokens });
        expect(validateHistory(input, dialect)).toEqual([]);
      }),
      runs(60),
    );
  });
});

it("An assistant message that is merged into the next one leaves its state behind", () => {
  const state = { type: "functionCall", functionCall: { name: "look", args: {} } };
  const messages = [
    new HumanMessage("look"),
    new AIMessage({ content: [state, { type: "text", text: "I look." }] }),
    new AIMessage({ content: "I saw it.", response_metadata: { model_provider: "openai" } }),
  ];
  const input = toModelInput(messages, { dialect: "gemini" });
  expect(validateHistory(input, "gemini")).toEqual([]);
  expect(JSON.stringify(input)).not.toContain("functionCall");
  expect(input[1]?.text).toContain("I look.");
});

it.each([-1, Number.NaN, "5", null])("A `maxTokens` of %j is refused", (maxTokens) => {
  expect(() => toModelInput([new HumanMessage("hello")], { maxTokens: maxTokens as never })).toThrow(
    "Expected `maxTokens` to be a number of 0 or more",
  );
});
