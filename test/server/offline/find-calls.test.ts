import { describe, expect, it } from "vitest";
import { findCalls } from "../../../server/offline/questions.js";
import { findSteps } from "../../../src/providers/offline/literal-calls.js";

const tools = new Set(["calculator", "weather", "save_note", "search_notes", "look"]);
const found = (text: string) =>
  findCalls(text, tools).map(({ name, args }) => [name, ...Object.values(args)].join(" "));

describe("findCalls", () => {
  it.each<[text: string, calls: string[]]>([
    ["What is 12*(3+4)?", ["calculator 12*(3+4)"]],
    ["how much is 6×7÷2", ["calculator 6*7/2"]],
    ["3 * 4", ["calculator 3 * 4"]],
    ["what is 6*7 and what is 20+22?", ["calculator 6*7", "calculator 20+22"]],
    ["What is 6*7 and the weather in Reykjavik?", ["calculator 6*7", "weather Reykjavik"]],
    ["What's the weather in New York right now?", ["weather New York"]],
    ["Is it warm in Rome?", ["weather Rome"]],
    ["Save a note: buy milk", ["save_note buy milk"]],
    ["note: the weather in Rome, and what is 1+1", ["save_note the weather in Rome, and what is 1+1"]],
    ["remember that call look is a tool", ["save_note call look is a tool"]],
    ["search my notes for milk", ["search_notes milk"]],
    ["list my notes", ["search_notes "]],
    ["计算 6*7", ["calculator 6*7"]],
    ["今天北京天气怎么样", ["weather 北京"]],
    ["记住：我喜欢茶", ["save_note 我喜欢茶"]],
    ["搜索笔记：茶", ["search_notes 茶"]],
    ["call look, what is 1+1?", ["look"]],
    ['call look {"text": "a, remember b"}', ["look a, remember b"]],
  ])("understands: %s", (text, calls) => {
    expect(found(text)).toEqual(calls);
  });

  it.each([
    "Hello there",
    "I work 24/7",
    "call somebody else",
    "I don't remember the capital",
    "how is the weather",
  ])("finds nothing to call in: %s", (text) => {
    expect(findCalls(text, tools)).toEqual([]);
  });

  it("asks only for tools that are bound", () => {
    expect(findCalls("What is 6*7 and the weather in Rome?", new Set(["weather"]))).toEqual([
      { name: "weather", args: { city: "Rome" } },
    ]);
  });

  // A pattern that tries every way to split such a text would never finish.
  it.each([
    "\n",
    " ",
    "(",
    "what is ",
    "what is (\n",
    "1+",
    "the weather in ",
    "weather in a ",
    "search my notes ",
  ])("reads 40,000 characters of %j to their end", (words) => {
    expect(found(`${words.repeat(40_000 / words.length)}x. And what is 6*7?`)).toContain("calculator 6*7");
  });
});

it.each<[text: string, steps: string[][]]>([
  ["hello", []],
  ["calculate 6*7 then save a note: the answer is 42", [["calculator"], ["save_note"]]],
  ["计算 6*7，然后记住：答案是42", [["calculator"], ["save_note"]]],
  ["save a note: first boil then cool", [["save_note"]]],
])("findSteps reads the steps of: %s", (text, steps) => {
  expect(findSteps(text, tools, findCalls).map((step) => step.map((call) => call.name))).toEqual(steps);
});
