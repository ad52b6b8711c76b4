import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { countTextTokens, countTokens } from "../../../src/history/size.js";
import { ai } from "../../support/make-messages.js";

describe("A text has about", () => {
  it.each([
    ["nothing", "", 0],
    ["one token for up to four Latin characters", "abcd", 1],
    ["two for five", "abcde", 2],
    ["one for each Chinese character", "你好吗", 3],
    ["both together", "abcd你好", 3],
    ["a hundred for four hundred characters", "x".repeat(400), 100],
  ])("%s", (_title, text, tokens) => {
    expect(countTextTokens(text)).toBe(tokens);
  });
});

const withContent = (content: unknown): BaseMessage => Object.assign(new HumanMessage(""), { content });

describe("A message has", () => {
  it.each<[title: string, message: BaseMessage, tokens: number]>([
    ["four tokens for itself", withContent(""), 4],
    ["its text", withContent("x".repeat(40)), 14],
    ["the text of its blocks", withContent([{ type: "text", text: "x".repeat(40) }, "y".repeat(40)]), 24],
    [
      "a fixed number for a picture, however large",
      withContent([{ type: "image_url", image_url: { url: "x".repeat(100_000) } }]),
      804,
    ],
    ["nothing for missing content", withContent(null), 4],
    ["nothing for values that are not blocks", withContent([null, 7]), 4],
  ])("%s", (_title, message, tokens) => {
    expect(countTokens(message)).toBe(tokens);
  });

  it("the arguments of its calls", () => {
    const args = { text: "x".repeat(400) };
    const message = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "f", args }] });
    expect(countTokens(message) - countTokens(ai("a", "c"))).toBeGreaterThan(90);
  });

  it("the arguments of calls that could not be parsed", () => {
    const args = "x".repeat(400);
    const message = new AIMessage({ content: "", invalid_tool_calls: [{ id: "c", name: "f", args }] });
    expect(countTokens(message)).toBeGreaterThan(100);
  });

  it("a number even if its content cannot be written as JSON, because the reducer accepts such content", () => {
    const block: Record<string, unknown> = { type: "data", value: 1n };
    block["self"] = block;
    expect(countTokens(withContent([block]))).toBeGreaterThanOrEqual(4);
  });
});

it("A message object is counted again if its content was replaced in place", () => {
  const message = withContent("x".repeat(40));
  expect(countTokens(message)).toBe(14);
  message.content = "x".repeat(80);
  expect(countTokens(message)).toBe(24);
  expect(countTokens(withContent(message.content))).toBe(24);
});
