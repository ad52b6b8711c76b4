import { describe, expect, it } from "vitest";
import { findCalls } from "../../../src/providers/offline/find-calls.js";

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

  it.each([
    "Hello there",
    "How are you?",
    "I work 24/7",
    "What is special about 2024-01-05?",
    "Please recall the last meeting",
    "call somebody else",
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
