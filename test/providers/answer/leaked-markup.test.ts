import { describe, expect, it } from "vitest";
import { hasLeakedMarkup } from "../../../src/providers/answer/verdict.js";

describe("leaked markup is found in", () => {
  it.each([
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>pay",
    "Let me see.<｜tool▁call▁begin｜>pay",
    "<|tool_calls_begin|><|tool_call_begin|>pay",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.pay:0",
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="pay">',
    "<｜DSML｜function_calls>",
    "<｜｜DSML｜｜tool_calls>",
    "<‖DSML‖tool_calls>",
    "< | DSML | tool_calls>",
    '<tool_call>\n{"name": "pay"}',
    "```js\ncode\n```\n<｜tool▁calls▁begin｜>",
  ])("%j", (text) => {
    expect(hasLeakedMarkup(text)).toBe(true);
  });
});

describe("no leaked markup is found in", () => {
  it.each([
    "",
    "I will call the tool.",
    "DeepSeek writes `<｜tool▁calls▁begin｜>` before a call.",
    "```\n<｜tool▁calls▁begin｜>\n```",
    "The tag <tool_call> wraps a call.",
    "a < b | c | DSML",
  ])("%j", (text) => {
    expect(hasLeakedMarkup(text)).toBe(false);
  });
});
