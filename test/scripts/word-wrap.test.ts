import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textWidth } from "../../scripts/terminal/text-width.js";
import { WordWrap } from "../../scripts/terminal/word-wrap.js";
import { runs } from "../support/law-runs.js";
import { squeeze } from "../support/long-histories.js";

/** The complete text of these pieces. */
function wrapped(width: number | undefined, ...pieces: string[]): string {
  const wrap = new WordWrap(() => width);
  return [...pieces, "\n"].map((piece) => wrap.push(piece)).join("");
}

describe("WordWrap", () => {
  it.each<[title: string, pieces: string[], lines: string[]]>([
    ["a short line as it is", ["one two"], ["one two"]],
    ["a line between words", ["one two three"], ["one two", "three"]],
    ["a line that fits to the last column", ["123456789 next"], ["123456789", "next"]],
    ["a word that comes in pieces", ["one t", "wo th", "ree"], ["one two", "three"]],
    ["the line ends of the text", ["one\n\n two"], ["one", "", " two"]],
    ["a list item below its words", ["- one two three"], ["- one two", "  three"]],
    ["a numbered item", ["1. one two three"], ["1. one", "   two", "   three"]],
    ["an indented line", ["  one two three"], ["  one two", "  three"]],
    ["a word that is longer than a line", ["a 12345678901 b"], ["a", "12345678901 b"]],
    ["a script without spaces", ["天气很好，很热"], ["天气很好", "，很热"]],
    [
      "a coloured line",
      ["\u001b[36m  → one two\u001b[39m three"],
      ["\u001b[36m  → one", "    two\u001b[39m", "    three"],
    ],
  ])("breaks %s", (_title, pieces, lines) => {
    expect(wrapped(9, ...pieces)).toBe(`${lines.join("\n")}\n`);
  });

  it("changes nothing without a width", () => {
    const wrap = new WordWrap(() => undefined);
    expect(wrap.push("one two three")).toBe("one two three");
  });

  it("breaks a text at the same places whatever pieces it arrives in, and loses no word", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "-", "é", "天", "😀"), maxLength: 8 });
    const pieces = fc.array(fc.oneof(word, fc.constantFrom(" ", "  ", "\n")), { maxLength: 40 });
    const law = fc.property(pieces, fc.integer({ min: 8, max: 30 }), (parts, width) => {
      const text = wrapped(width, ...parts);
      expect(text).toBe(wrapped(width, parts.join("")));
      expect(squeeze(text)).toBe(squeeze(parts.join("")));
      for (const line of text.split("\n")) {
        // The terminal itself breaks a word that is longer than a line.
        const isBreakable = textWidth(/^\s*\S*/u.exec(line)?.[0] ?? "") <= width;
        if (isBreakable) expect(textWidth(line)).toBeLessThanOrEqual(width);
      }
    });
    fc.assert(law, runs(200));
  });
});

describe("textWidth", () => {
  it.each([
    ["abc", 3],
    ["天气", 4],
    ["é", 1],
    ["😀", 2],
    ["→ ▸ ✗", 5],
    ["\u001b[31mred\u001b[39m", 3],
  ])("of %j is %j", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });
});
