import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countTextTokens } from "../../../src/history/size.js";
import { renderMessage, renderTranscript } from "../../../src/history/transcript.js";
import { runs } from "../../support/law-runs.js";
import { squeeze, turnsOf } from "../../support/long-histories.js";

const args = { city: "Köln", days: 3 };

it("A transcript has no half of a surrogate pair, which the summariser's provider would refuse.", () => {
  expect(renderTranscript([new HumanMessage("Sunny \ud83d")], 100)).toEqual(["User: Sunny \ufffd"]);
});

describe("A message is rendered with", () => {
  it("its speaker and its text, to the letter", () => {
    expect(renderMessage(new HumanMessage("cost: $& or $1?"))).toBe("User: cost: $& or $1?");
    expect(renderMessage(new AIMessage("fine"))).toBe("Assistant: fine");
  });

  it("its calls: tool, id and arguments", () => {
    const message = new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args }] });
    const text = renderMessage(message);
    for (const part of ["weather", "c1", "Köln", "3"]) expect(text).toContain(part);
  });

  it("arguments that could not be parsed", () => {
    const invalid = { id: "c1", name: "weather", args: '{"city": "Kö', error: "cut off" };
    expect(renderMessage(new AIMessage({ content: "", invalid_tool_calls: [invalid] }))).toContain(
      '{"city": "Kö',
    );
  });

  it.each([
    ["tool_use", { type: "tool_use", id: "c1", name: "weather", input: args }],
    [
      "function_call",
      { type: "function_call", call_id: "c1", name: "weather", arguments: JSON.stringify(args) },
    ],
  ])("the arguments of a call that stands in the content only, as %s", (_type, block) => {
    const message = new AIMessage({ content: [block] as never });
    const text = renderMessage(message);
    for (const part of ["weather", "c1", "Köln", "3"]) expect(text).toContain(part);
  });

  it("the arguments of the right call if listed calls and blocks are mixed", () => {
    const message = new AIMessage({
      content: [
        { type: "tool_use", id: "only", name: "second", input: { which: "block" } },
        { type: "tool_use", id: "both", name: "first", input: { which: "listed" } },
      ],
      tool_calls: [{ id: "both", name: "first", args: { which: "listed" } }],
    });
    expect(renderMessage(message)).toMatch(/first \(both\): .*listed/);
    expect(renderMessage(message)).toMatch(/second \(only\): .*block/);
  });

  it("the tool, call, status and content of a result", () => {
    const text = renderMessage(
      new ToolMessage({ name: "weather", tool_call_id: "c1", status: "error", content: "no such city" }),
    );
    for (const part of ["weather", "c1", "error", "no such city"]) expect(text).toContain(part);
  });

  it("the names of its pictures", () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ];
    expect(renderMessage(new HumanMessage({ content }))).toBe("User: look\n[image_url]");
  });
});

describe("A transcript", () => {
  it("has no pieces for no messages", () => {
    expect(renderTranscript([], 100)).toEqual([]);
  });

  it("is one piece if it is short", () => {
    expect(renderTranscript(turnsOf(2), 4000)).toHaveLength(1);
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
