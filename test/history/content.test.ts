/** What the content of a message is as text, in a transcript, and in tokens. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentText } from "../../src/history/message.js";
import { countTokens } from "../../src/history/size.js";
import { countTextTokens } from "../../src/history/text-tokens.js";
import { renderMessage, renderTranscript } from "../../src/history/transcript.js";
import { squeeze, turnsOf } from "../support/long-histories.js";
import { ai } from "../support/make-messages.js";
import { runs } from "../support/test-tools.js";

const withContent = (content: unknown): BaseMessage => Object.assign(new HumanMessage(""), { content });
const textBlock = (text: string) => ({ type: "text", text });
const picture = (url = "data:image/png;base64,AAAA") => ({ type: "image_url", image_url: { url } });

it.each<[title: string, content: unknown, expected: string]>([
  ["A text stays the same, to the letter", "$& `x` {y}", "$& `x` {y}"],
  ["Missing content gives an empty text", null, ""],
  ["Text blocks are on separate lines", [textBlock("one"), "two"], "one\ntwo"],
  ["A picture is named", [picture()], "[image_url: image/png, 3 bytes]"],
  ["A file is named with its name", [{ type: "file", name: "plan.pdf" }], "[file: plan.pdf]"],
  [
    "A document is named with its title",
    [{ type: "document", title: "Plan", source: {} }],
    "[document: Plan]",
  ],
  ["Data is written as JSON", [{ type: "json", data: { x: 1 } }], '{"type":"json","data":{"x":1}}'],
  ["An unknown block is named", [{ type: "hologram" }, {}], "[hologram]"],
  [
    "Calls and reasoning are not content",
    [
      { type: "tool_use", id: "c", name: "x", input: {} },
      { type: "thinking", thinking: "hm" },
      textBlock("said"),
    ],
    "said",
  ],
  ["A value that is not a block is skipped", [null, 7, textBlock("x")], "x"],
])("%s", (_title, content, expected) => {
  expect(contentText(withContent(content))).toBe(expected);
});

describe("A message has", () => {
  it.each<[title: string, content: unknown, tokens: number]>([
    ["four tokens for itself", "", 4],
    ["its text", " word".repeat(10), 14],
    ["the text of its blocks", [textBlock(" word".repeat(10)), " text".repeat(10)], 24],
    ["a fixed number for a picture, however large", [picture("x".repeat(100_000))], 804],
    ["nothing for missing content", null, 4],
    ["nothing for values that are not blocks", [null, 7], 4],
  ])("%s", (_title, content, tokens) => {
    expect(countTokens(withContent(content))).toBe(tokens);
  });

  it.each([
    ["the arguments of its calls", { tool_calls: [{ id: "c", name: "f", args: { text: "x".repeat(400) } }] }],
    [
      "those that could not be parsed",
      { invalid_tool_calls: [{ id: "c", name: "f", args: "x".repeat(400) }] },
    ],
  ])("%s", (_title, calls) => {
    expect(countTokens(new AIMessage({ content: "", ...calls })) - countTokens(ai("a", "c"))).toBeGreaterThan(
      90,
    );
  });

  it("a number even if its content cannot be written as JSON, because the reducer accepts such content", () => {
    const block: Record<string, unknown> = { type: "data", value: 1n };
    block["self"] = block;
    expect(countTokens(withContent([block]))).toBeGreaterThanOrEqual(4);
  });

  it("another number after its content was replaced in place", () => {
    const message = withContent("one two three");
    expect(countTokens(message)).toBe(8);
    message.content = "one two three four five";
    expect(countTokens(message)).toBe(10);
  });
});

describe("In a transcript, a message has", () => {
  const args = { city: "Köln", days: 3 };
  const call = { id: "c1", name: "weather" };
  const cut = '{"city": "Kö';
  const written = ["weather", "c1", "Köln", "3"];

  it.each<[title: string, message: BaseMessage, parts: readonly (string | RegExp)[]]>([
    [
      "its speaker and its text, to the letter",
      new HumanMessage("cost: $& or $1?"),
      [/^User: cost: \$& or \$1\?$/],
    ],
    ["the speaker of a response", new AIMessage("fine"), [/^Assistant: fine$/]],
    ["its calls", new AIMessage({ content: "", tool_calls: [{ ...call, args }] }), written],
    [
      "arguments that could not be parsed",
      new AIMessage({ content: "", invalid_tool_calls: [{ ...call, args: cut, error: "cut off" }] }),
      [cut],
    ],
    [
      "calls that stand in its content only, as tool_use",
      new AIMessage({ content: [{ type: "tool_use", ...call, input: args }] }),
      written,
    ],
    [
      "calls that stand in its content only, as function_call",
      new AIMessage({
        content: [
          { type: "function_call", call_id: "c1", name: "weather", arguments: JSON.stringify(args) },
        ] as never,
      }),
      written,
    ],
    [
      "the arguments of the right call if listed calls and blocks are mixed",
      new AIMessage({
        content: [
          { type: "tool_use", id: "only", name: "second", input: { which: "block" } },
          { type: "tool_use", id: "both", name: "first", input: { which: "listed" } },
        ],
        tool_calls: [{ id: "both", name: "first", args: { which: "listed" } }],
      }),
      [/first \(both\): .*listed/, /second \(only\): .*block/],
    ],
    [
      "the tool, call, status and content of a result",
      new ToolMessage({ name: "weather", tool_call_id: "c1", status: "error", content: "no such city" }),
      ["weather", "c1", "error", "no such city"],
    ],
    [
      "the names of its pictures",
      withContent([textBlock("look"), picture()]),
      [/^User: look\n\[image_url: image\/png, 3 bytes\]$/],
    ],
  ])("%s", (_title, message, parts) => {
    const text = renderMessage(message);
    for (const part of parts) expect(text).toMatch(part);
  });
});

describe("A transcript", () => {
  it.each([
    ["no pieces for no messages", [], 0],
    ["one piece if it is short", turnsOf(2), 1],
  ])("has %s", (_title, messages, pieces) => {
    expect(renderTranscript(messages, 4000)).toHaveLength(pieces);
  });

  it("has no half of a surrogate pair, which the summariser's provider would refuse", () => {
    expect(renderTranscript([new HumanMessage("Sunny \ud83d")], 100)).toEqual(["User: Sunny \ufffd"]);
    // A run of spaces has so few tokens that a piece ends at its greatest length.
    for (let spaces = 60; spaces < 80; spaces += 1) {
      const pieces = renderTranscript([new HumanMessage(`${" ".repeat(spaces)}😀 sunny`)], 10);
      expect(pieces.filter((piece) => !piece.isWellFormed())).toEqual([]);
    }
  });

  it("has pieces of at most the given number of tokens, and leaves nothing out", () => {
    const text = fc.string({ unit: fc.constantFrom("a", " ", "文", "😀", "é", "\n"), maxLength: 300 });
    const law = fc.property(
      fc.array(text, { maxLength: 12 }),
      fc.integer({ min: 5, max: 60 }),
      (texts, tokens) => {
        const messages = texts.map((content) => new HumanMessage(content));
        const pieces = renderTranscript(messages, tokens);
        for (const piece of pieces) {
          expect(countTextTokens(piece)).toBeLessThanOrEqual(tokens);
          expect(() => encodeURIComponent(piece)).not.toThrow();
        }
        expect(squeeze(pieces.join(""))).toBe(squeeze(messages.map(renderMessage).join("")));
      },
    );
    fc.assert(law, runs(300));
  });
});
