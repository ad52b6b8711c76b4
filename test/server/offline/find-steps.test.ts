import { describe, expect, it } from "vitest";
import { findCalls } from "../../../server/offline/questions.js";
import { findSteps } from "../../../src/offline/literal-calls.js";

const tools = new Set(["calculator", "save_note", "look"]);

describe("findSteps", () => {
  it.each<{ text: string; steps: string[][] }>([
    { text: "hello", steps: [] },
    { text: "calculate 6*7", steps: [["calculator"]] },
    { text: "calculate 6*7 then save a note: the answer is 42", steps: [["calculator"], ["save_note"]] },
    {
      text: "call look and call look, then call look and then call look",
      steps: [["look", "look"], ["look"], ["look"]],
    },
    { text: "计算 6*7，然后记住：答案是42", steps: [["calculator"], ["save_note"]] },
    { text: "hi then calculate 6*7 then goodbye", steps: [["calculator"]] },
    { text: 'call look {"text": "first then call look"}', steps: [["look"]] },
  ])("reads the steps of: $text", ({ text, steps }) => {
    expect(findSteps(text, tools, findCalls).map((step) => step.map((call) => call.name))).toEqual(steps);
  });

  it('adds a "then" without a call to the step before it', () => {
    expect(findSteps("save a note: first boil then cool", tools, findCalls)).toEqual([
      [{ name: "save_note", args: { text: "first boil then cool" } }],
    ]);
  });
});
