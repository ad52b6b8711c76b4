import { describe, expect, it } from "vitest";
import { findCalls } from "../../../server/offline/questions.js";
import { findSteps } from "../../../src/offline/literal-calls.js";

const BUILT_IN = ["calculator", "current_time", "weather", "save_note", "search_notes"];
const tools = new Set([...BUILT_IN, "slow_lookup", "get-price"]);

describe("findCalls", () => {
  it.each<[text: string, calls: [string, Record<string, unknown>][]]>([
    ["What is 12*(3+4)?", [["calculator", { input: "12*(3+4)" }]]],
    ["how much is 6×7÷2", [["calculator", { input: "6*7/2" }]]],
    ["3 * 4", [["calculator", { input: "3 * 4" }]]],
    [
      "What is 2^10 and 5-3?",
      [
        ["calculator", { input: "2^10" }],
        ["calculator", { input: "5-3" }],
      ],
    ],
    ["What's the time?", [["current_time", {}]]],
    ["what time is it in New York?", [["current_time", { timezone: "America/New_York" }]]],
    ["current time in beijing please", [["current_time", { timezone: "Asia/Shanghai" }]]],
    ["time in Europe/Berlin", [["current_time", { timezone: "Europe/Berlin" }]]],
    ["What time is it in Gotham?", [["current_time", { timezone: "Gotham" }]]],
    ["What's the weather in Paris right now?", [["weather", { city: "Paris" }]]],
    ["weather in Rome, Oslo and New York", ["Rome", "Oslo", "New York"].map((city) => ["weather", { city }])],
    ["weather in Paris, France", [["weather", { city: "Paris" }]]],
    ["Save a note: buy milk", [["save_note", { text: "buy milk" }]]],
    ["remember that 6*7 is the weather in Paris", [["save_note", { text: "6*7 is the weather in Paris" }]]],
    ["search my notes for milk", [["search_notes", { query: "milk" }]]],
    ["Do you remember my name?", [["search_notes", { query: "my name" }]]],
    ["list my notes", [["search_notes", { query: "" }]]],
    ["东京现在几点？", [["current_time", { timezone: "Asia/Tokyo" }]]],
    ["计算 6*7", [["calculator", { input: "6*7" }]]],
    ["今天北京天气怎么样", [["weather", { city: "北京" }]]],
    ["记住：我喜欢茶", [["save_note", { text: "我喜欢茶" }]]],
    ["搜索笔记：茶", [["search_notes", { query: "茶" }]]],
  ])("understands: %s", (text, calls) => {
    expect(findCalls(text, tools)).toEqual(calls.map(([name, args]) => ({ name, args })));
  });

  it.each<[text: string, calls: string[]]>([
    [
      "what is 3*4 and the weather in Paris, and save a note: buy milk",
      ["calculator 3*4", "weather Paris", "save_note buy milk"],
    ],
    [
      "save a note: buy milk, and what is 3*4 and the weather in Paris?",
      ["save_note buy milk", "calculator 3*4", "weather Paris"],
    ],
    ["weather in Paris and in Tokyo", ["weather Paris", "weather Tokyo"]],
    ["weather in paris, tokyo and oslo", ["weather paris", "weather tokyo", "weather oslo"]],
    ["Weather in Paris, France and what time is it?", ["weather Paris", "current_time"]],
    ["weather for Oslo plus the time in Tokyo", ["weather Oslo", "current_time Asia/Tokyo"]],
    ["how warm is it in Rome and what time is it", ["weather Rome", "current_time"]],
    ["Is it raining in London? Also, 6 times 7", ["weather London", "calculator 6*7"]],
    ["weather and time in Tokyo", ["weather Tokyo", "current_time Asia/Tokyo"]],
    ["what time is it in Tokyo and how is the weather there?", ["current_time Asia/Tokyo", "weather Tokyo"]],
    ["what is the weather in Tokyo and what time is it there", ["weather Tokyo", "current_time Asia/Tokyo"]],
    ["time in London or New York", ["current_time Europe/London", "current_time America/New_York"]],
    ["current weather in new york please", ["weather new york"]],
    ["calculate 6*7, 8*9 and 2+2", ["calculator 6*7", "calculator 8*9", "calculator 2+2"]],
    ["can you tell me what 3*4 is and also the weather in Berlin", ["calculator 3*4", "weather Berlin"]],
    ["what's 15 divided by 3, also how hot is it in Cairo", ["calculator 15/3", "weather Cairo"]],
    ["What's the weather like on 10/11 in Rome?", ["weather Rome"]],
    [
      "note that the door is open, and what time is it in Tokyo?",
      ["save_note the door is open", "current_time Asia/Tokyo"],
    ],
    ["remember to buy milk and also what is 2+2", ["save_note buy milk", "calculator 2+2"]],
    ["Remember my name is Bob and tell me the weather in Lima", ["save_note my name is Bob", "weather Lima"]],
    ["take a note: eggs and milk; also weather in Paris", ["save_note eggs and milk", "weather Paris"]],
    ["note to self: buy bread. What time is it?", ["save_note buy bread", "current_time"]],
    [
      "save a note: buy milk and remember to call Anna, please",
      ["save_note buy milk", "save_note call Anna"],
    ],
    ["what did I note about milk", ["search_notes milk"]],
    ["did I save a note about milk?", ["search_notes milk"]],
    ["what did I note?", ["search_notes "]],
    [
      "search my notes for bread and butter and the weather in Lima",
      ["search_notes bread and butter", "weather Lima"],
    ],
    ["list my notes and what time is it", ["search_notes ", "current_time"]],
    ["记住：我喜欢茶，东京现在几点？", ["save_note 我喜欢茶", "current_time Asia/Tokyo"]],
    [
      "What's the weather in Paris, what time is it in Tokyo, what is 1+1, and remember that I like tea?",
      ["weather Paris", "current_time Asia/Tokyo", "calculator 1+1", "save_note I like tea"],
    ],
  ])("finds every wish of: %s", (text, calls) => {
    const found = findCalls(text, tools).map(({ name, args }) => [name, ...Object.values(args)].join(" "));
    expect(found).toEqual(calls);
  });

  it.each([
    "what is 3*4",
    "I like tea and coffee",
    "ask Anna what time it is in Rome",
    "call Bob, 555-1234",
    "dinner at 8, what a day",
    "use calculator for taxes",
    "search my notes for tea",
  ])("takes no other wish from the note: %s", (text) => {
    expect(findCalls(`save a note: ${text}`, tools)).toEqual([{ name: "save_note", args: { text } }]);
  });

  it("keeps the words of a note in quotation marks", () => {
    expect(findCalls('save a note "tea, and so on" and weather in Rome', tools)).toEqual([
      { name: "save_note", args: { text: "tea, and so on" } },
      { name: "weather", args: { city: "Rome" } },
    ]);
  });

  it("finds no call in the text of a note that it cannot save", () => {
    expect(findCalls("save a note: what is 3*4", new Set(["calculator"]))).toEqual([]);
  });

  // A pattern that tries every way to split such a text would never finish.
  it.each<[words: string, calls: number]>([
    ["what is ", 0],
    ["remember a, what is ", 1],
    ["weather in Paris, ", 500],
    ["1+", 0],
    ["save a note ", 1],
  ])("reads a long text of %s to its end", (words, calls) => {
    expect(findCalls(words.repeat(500), tools)).toHaveLength(calls);
  });

  it.each<[words: string, calls: number]>([
    ["\n", 0],
    [" ", 0],
    ["(", 0],
    ["what is ", 0],
    ["what is (\n", 0],
    ["add a ", 0],
    ["the weather in ", 0],
    ["search notes for a, ", 2_000],
  ])("reads 40,000 characters of %s, and the request after them", (words, calls) => {
    const text = `${words.repeat(40_000 / words.length)}x. And what is 6*7?`;
    const found = findCalls(text, tools);
    expect(found.filter(({ name }) => name === "calculator")).toEqual([
      { name: "calculator", args: { input: "6*7" } },
    ]);
    expect(found.filter(({ name }) => name === "search_notes")).toHaveLength(calls);
  });

  it("keeps a long note whole", () => {
    const note = `${"one two three ".repeat(1_000)}${"\n".repeat(100)}four`;
    expect(findCalls(`save a note: ${note}`, tools)).toEqual([{ name: "save_note", args: { text: note } }]);
  });

  it.each([
    "Hello there",
    "How are you?",
    "I work 24/7",
    "What is special about 2024-01-05?",
    "Please recall the last meeting",
    "call somebody else",
    "I don't remember the capital",
    "He left a note on the table",
    "I spent some time in Paris",
    "how is the weather",
  ])("finds nothing to call in: %s", (text) => {
    expect(findCalls(text, tools)).toEqual([]);
  });

  it("asks only for tools that are bound", () => {
    const text = "What is 12*(3+4), and what time is it in Tokyo?";
    expect(findCalls(text, new Set(["current_time"]))).toEqual([
      { name: "current_time", args: { timezone: "Asia/Tokyo" } },
    ]);
  });

  it.each<[text: string, calls: [string, Record<string, unknown>][]]>([
    ["call slow_lookup", [["slow_lookup", {}]]],
    ['call slow_lookup {"ms": 500}', [["slow_lookup", { ms: 500 }]]],
    ['Use `get-price`{"of": {"item": "tea"}}!', [["get-price", { of: { item: "tea" } }]]],
    ['call slow_lookup {"q": "} call get-price {"}', [["slow_lookup", { q: "} call get-price {" }]]],
    ['call slow_lookup {"ms": ', [["slow_lookup", {}]]],
    [
      'call slow_lookup {"n": 1}, use get-price and call slow_lookup {"n": 2}',
      [
        ["slow_lookup", { n: 1 }],
        ["get-price", {}],
        ["slow_lookup", { n: 2 }],
      ],
    ],
    ["call slow_lookup, what is 1+1?", [["slow_lookup", {}]]],
    ["use calculator for 6*7", [["calculator", { input: "6*7" }]]],
    ['call calculator {"input": "1+1"} for 6*7', [["calculator", { input: "1+1" }]]],
    ["call calculator", [["calculator", {}]]],
  ])("calls a tool by its name: %s", (text, calls) => {
    expect(findCalls(text, tools)).toEqual(calls.map(([name, args]) => ({ name, args })));
  });
});

describe("findSteps", () => {
  const known = new Set(["calculator", "save_note", "look"]);

  it.each<[text: string, steps: string[][]]>([
    ["hello", []],
    ["calculate 6*7", [["calculator"]]],
    ["calculate 6*7 then save a note: the answer is 42", [["calculator"], ["save_note"]]],
    ["call look and call look, then call look and then call look", [["look", "look"], ["look"], ["look"]]],
    ["计算 6*7，然后记住：答案是42", [["calculator"], ["save_note"]]],
    ["hi then calculate 6*7 then goodbye", [["calculator"]]],
    ['call look {"text": "first then call look"}', [["look"]]],
  ])("reads the steps of: %s", (text, steps) => {
    expect(findSteps(text, known, findCalls).map((step) => step.map((call) => call.name))).toEqual(steps);
  });

  it('adds a "then" without a call to the step before it', () => {
    expect(findSteps("save a note: first boil then cool", known, findCalls)).toEqual([
      [{ name: "save_note", args: { text: "first boil then cool" } }],
    ]);
  });
});
