import { describe, expect, it } from "vitest";
import { findCalls } from "../../../server/offline/questions.js";
import { findSteps } from "../../../src/offline/literal-calls.js";

const tools = new Set(["calculator", "save_note", "look"]);

describe("findSteps", () => {
  it.each<[text: string, steps: string[][]]>([
    ["hello", []],
    ["calculate 6*7", [["calculator"]]],
    ["calculate 6*7 then save a note: the answer is 42", [["calculator"], ["save_note"]]],
    ["call look and call look, then call look and then call look", [["look", "look"], ["look"], ["look"]]],
    ["计算 6*7，然后记住：答案是42", [["calculator"], ["save_note"]]],
    ["hi then calculate 6*7 then goodbye", [["calculator"]]],
    ['call look {"text": "first then call look"}', [["look"]]],
  ])("reads the steps of: %s", (text, steps) => {
    expect(findSteps(text, tools, findCalls).map((step) => step.map((call) => call.name))).toEqual(steps);
  });

  it('adds a "then" without a call to the step before it', () => {
    expect(findSteps("save a note: first boil then cool", tools, findCalls)).toEqual([
      [{ name: "save_note", args: { text: "first boil then cool" } }],
    ]);
  });
});
