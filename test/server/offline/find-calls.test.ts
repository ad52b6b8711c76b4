import { describe, expect, it } from "vitest";
import { findCalls } from "../../../server/offline/questions.js";

const BUILT_IN = ["calculator", "current_time", "weather", "save_note", "search_notes"];
const tools = new Set([...BUILT_IN, "slow_lookup", "get-price"]);

describe("findCalls", () => {
  it.each<{ text: string; calls: [string, Record<string, unknown>][] }>([
    { text: "What is 12*(3+4)?", calls: [["calculator", { input: "12*(3+4)" }]] },
    { text: "how much is 6×7÷2", calls: [["calculator", { input: "6*7/2" }]] },
    { text: "3 * 4", calls: [["calculator", { input: "3 * 4" }]] },
    {
      text: "What is 2^10 and 5-3?",
      calls: [
        ["calculator", { input: "2^10" }],
        ["calculator", { input: "5-3" }],
      ],
    },
    { text: "What's the time?", calls: [["current_time", {}]] },
    { text: "what time is it in New York?", calls: [["current_time", { timezone: "America/New_York" }]] },
    { text: "current time in beijing please", calls: [["current_time", { timezone: "Asia/Shanghai" }]] },
    { text: "time in Europe/Berlin", calls: [["current_time", { timezone: "Europe/Berlin" }]] },
    { text: "What time is it in Gotham?", calls: [["current_time", { timezone: "Gotham" }]] },
    { text: "What's the weather in Paris right now?", calls: [["weather", { city: "Paris" }]] },
    {
      text: "weather in Rome, Oslo and New York",
      calls: ["Rome", "Oslo", "New York"].map((city) => ["weather", { city }]),
    },
    { text: "weather in Paris, France", calls: [["weather", { city: "Paris" }]] },
    { text: "Save a note: buy milk", calls: [["save_note", { text: "buy milk" }]] },
    {
      text: "remember that 6*7 is the weather in Paris",
      calls: [["save_note", { text: "6*7 is the weather in Paris" }]],
    },
    { text: "search my notes for milk", calls: [["search_notes", { query: "milk" }]] },
    { text: "Do you remember my name?", calls: [["search_notes", { query: "my name" }]] },
    { text: "list my notes", calls: [["search_notes", { query: "" }]] },
    { text: "东京现在几点？", calls: [["current_time", { timezone: "Asia/Tokyo" }]] },
    { text: "计算 6*7", calls: [["calculator", { input: "6*7" }]] },
    { text: "今天北京天气怎么样", calls: [["weather", { city: "北京" }]] },
    { text: "记住：我喜欢茶", calls: [["save_note", { text: "我喜欢茶" }]] },
    { text: "搜索笔记：茶", calls: [["search_notes", { query: "茶" }]] },
  ])("understands: $text", ({ text, calls }) => {
    expect(findCalls(text, tools)).toEqual(calls.map(([name, args]) => ({ name, args })));
  });

  it.each<{ text: string; calls: string[] }>([
    {
      text: "what is 3*4 and the weather in Paris, and save a note: buy milk",
      calls: ["calculator 3*4", "weather Paris", "save_note buy milk"],
    },
    {
      text: "save a note: buy milk, and what is 3*4 and the weather in Paris?",
      calls: ["save_note buy milk", "calculator 3*4", "weather Paris"],
    },
    { text: "weather in Paris and in Tokyo", calls: ["weather Paris", "weather Tokyo"] },
    { text: "weather in paris, tokyo and oslo", calls: ["weather paris", "weather tokyo", "weather oslo"] },
    {
      text: "Weather in Paris, France and what time is it?",
      calls: ["weather Paris", "current_time"],
    },
    { text: "weather for Oslo plus the time in Tokyo", calls: ["weather Oslo", "current_time Asia/Tokyo"] },
    { text: "how warm is it in Rome and what time is it", calls: ["weather Rome", "current_time"] },
    { text: "Is it raining in London? Also, 6 times 7", calls: ["weather London", "calculator 6*7"] },
    { text: "weather and time in Tokyo", calls: ["weather Tokyo", "current_time Asia/Tokyo"] },
    {
      text: "what time is it in Tokyo and how is the weather there?",
      calls: ["current_time Asia/Tokyo", "weather Tokyo"],
    },
    {
      text: "what is the weather in Tokyo and what time is it there",
      calls: ["weather Tokyo", "current_time Asia/Tokyo"],
    },
    {
      text: "time in London or New York",
      calls: ["current_time Europe/London", "current_time America/New_York"],
    },
    { text: "current weather in new york please", calls: ["weather new york"] },
    { text: "calculate 6*7, 8*9 and 2+2", calls: ["calculator 6*7", "calculator 8*9", "calculator 2+2"] },
    {
      text: "can you tell me what 3*4 is and also the weather in Berlin",
      calls: ["calculator 3*4", "weather Berlin"],
    },
    {
      text: "what's 15 divided by 3, also how hot is it in Cairo",
      calls: ["calculator 15/3", "weather Cairo"],
    },
    { text: "What's the weather like on 10/11 in Rome?", calls: ["weather Rome"] },
    {
      text: "note that the door is open, and what time is it in Tokyo?",
      calls: ["save_note the door is open", "current_time Asia/Tokyo"],
    },
    { text: "remember to buy milk and also what is 2+2", calls: ["save_note buy milk", "calculator 2+2"] },
    {
      text: "Remember my name is Bob and tell me the weather in Lima",
      calls: ["save_note my name is Bob", "weather Lima"],
    },
    {
      text: "take a note: eggs and milk; also weather in Paris",
      calls: ["save_note eggs and milk", "weather Paris"],
    },
    {
      text: "note to self: buy bread. What time is it?",
      calls: ["save_note buy bread", "current_time"],
    },
    {
      text: "save a note: buy milk and remember to call Anna, please",
      calls: ["save_note buy milk", "save_note call Anna"],
    },
    {
      text: "add eggs to my notes and calculate 3 times 4",
      calls: ["save_note eggs", "calculator 3*4"],
    },
    { text: "what did I note about milk", calls: ["search_notes milk"] },
    { text: "did I save a note about milk?", calls: ["search_notes milk"] },
    { text: "what did I note?", calls: ["search_notes "] },
    {
      text: "search my notes for bread and butter and the weather in Lima",
      calls: ["search_notes bread and butter", "weather Lima"],
    },
    { text: "list my notes and what time is it", calls: ["search_notes ", "current_time"] },
    { text: "记住：我喜欢茶，东京现在几点？", calls: ["save_note 我喜欢茶", "current_time Asia/Tokyo"] },
  ])("finds every wish of: $text", ({ text, calls }) => {
    const found = findCalls(text, tools).map(({ name, args }) => [name, ...Object.values(args)].join(" "));
    expect(found).toEqual(calls);
  });

  it.each([
    "what is 3*4",
    "I like tea and coffee",
    "ask Anna what time it is in Rome",
    "call Bob, 555-1234",
    "dinner at 8, what a day",
    "ask Anna, the weather in Oslo is nice",
    "use calculator for taxes",
    "search my notes for tea",
  ])("takes no other wish from the note: %s", (text) => {
    expect(findCalls(`save a note: ${text}`, tools)).toEqual([{ name: "save_note", args: { text } }]);
  });

  it("keeps a note in quotation marks unchanged", () => {
    expect(findCalls('save a note "tea, and what is 3*4" and weather in Rome', tools)).toEqual([
      { name: "save_note", args: { text: "tea, and what is 3*4" } },
      { name: "weather", args: { city: "Rome" } },
    ]);
  });

  it("finds no call in the text of a note that it cannot save", () => {
    expect(findCalls("save a note: what is 3*4", new Set(["calculator"]))).toEqual([]);
  });

  // A pattern that tries every way to split such a text would never finish.
  it.each<{ words: string; calls: number }>([
    { words: "what is ", calls: 0 },
    { words: "remember a, what is ", calls: 1 },
    { words: "weather in Paris, ", calls: 500 },
    { words: "1+", calls: 0 },
    { words: "save a note ", calls: 1 },
  ])("reads a long text of $words to its end", ({ words, calls }) => {
    expect(findCalls(words.repeat(500), tools)).toHaveLength(calls);
  });

  it.each<{ words: string; calls: number }>([
    { words: "\n", calls: 0 },
    { words: " ", calls: 0 },
    { words: "(", calls: 0 },
    { words: "what is ", calls: 0 },
    { words: "what is (\n", calls: 0 },
    { words: "add a ", calls: 0 },
    { words: "the weather in ", calls: 0 },
    { words: "search notes for a, ", calls: 2_000 },
  ])("reads 40,000 characters of $words, and the request after them", ({ words, calls }) => {
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

  it("makes several calls in the order of the text", () => {
    const text =
      "What's the weather in Paris, what time is it in Tokyo, what is 1+1, and remember that I like tea?";
    expect(findCalls(text, tools).map((call) => call.name)).toEqual([
      "weather",
      "current_time",
      "calculator",
      "save_note",
    ]);
  });

  it("asks only for tools that are bound", () => {
    const text = "What is 12*(3+4), and what time is it in Tokyo?";
    expect(findCalls(text, new Set(["current_time"]))).toEqual([
      { name: "current_time", args: { timezone: "Asia/Tokyo" } },
    ]);
  });

  it.each<{ text: string; calls: [string, Record<string, unknown>][] }>([
    { text: "call slow_lookup", calls: [["slow_lookup", {}]] },
    { text: 'call slow_lookup {"ms": 500}', calls: [["slow_lookup", { ms: 500 }]] },
    { text: 'Use `get-price`{"of": {"item": "tea"}}!', calls: [["get-price", { of: { item: "tea" } }]] },
    {
      text: 'call slow_lookup {"q": "} call get-price {"}',
      calls: [["slow_lookup", { q: "} call get-price {" }]],
    },
    { text: 'call slow_lookup {"ms": ', calls: [["slow_lookup", {}]] },
    {
      text: 'call slow_lookup {"n": 1}, use get-price and call slow_lookup {"n": 2}',
      calls: [
        ["slow_lookup", { n: 1 }],
        ["get-price", {}],
        ["slow_lookup", { n: 2 }],
      ],
    },
    { text: "call slow_lookup, what is 1+1?", calls: [["slow_lookup", {}]] },
    { text: "use calculator for 6*7", calls: [["calculator", { input: "6*7" }]] },
    { text: 'call calculator {"input": "1+1"} for 6*7', calls: [["calculator", { input: "1+1" }]] },
    { text: "call calculator", calls: [["calculator", {}]] },
  ])("calls a tool by its name: $text", ({ text, calls }) => {
    expect(findCalls(text, tools)).toEqual(calls.map(([name, args]) => ({ name, args })));
  });
});
