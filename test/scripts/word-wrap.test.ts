import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textWidth } from "../../scripts/terminal/text-width.js";
import { WordWrap } from "../../scripts/terminal/word-wrap.js";
import { runs } from "../support/law-runs.js";
import { squeeze } from "../support/long-histories.js";

/** A whole text, as it comes in these pieces. */
function wrapped(width: number | undefined, ...pieces: string[]): string {
  const wrap = new WordWrap(() => width);
  return [...pieces, "\n"].map((piece) => wrap.push(piece)).join("");
}

describe("WordWrap", () => {
  it.each<{ title: string; pieces: string[]; lines: string[] }>([
    { title: "a short line as it is", pieces: ["one two"], lines: ["one two"] },
    { title: "a line between words", pieces: ["one two three"], lines: ["one two", "three"] },
    {
      title: "a line that fits to the last column",
      pieces: ["123456789 next"],
      lines: ["123456789", "next"],
    },
    { title: "a word that comes in pieces", pieces: ["one t", "wo th", "ree"], lines: ["one two", "three"] },
    { title: "the line ends of the text", pieces: ["one\n\n two"], lines: ["one", "", " two"] },
    { title: "a list item below its words", pieces: ["- one two three"], lines: ["- one two", "  three"] },
    { title: "a numbered item", pieces: ["1. one two three"], lines: ["1. one", "   two", "   three"] },
    { title: "an indented line", pieces: ["  one two three"], lines: ["  one two", "  three"] },
    {
      title: "a word that is longer than a line",
      pieces: ["a 12345678901 b"],
      lines: ["a", "12345678901 b"],
    },
    { title: "a script without spaces", pieces: ["天气很好，很热"], lines: ["天气很好", "，很热"] },
    {
      title: "a coloured line",
      pieces: ["\u001b[36m  → one two\u001b[39m three"],
      lines: ["\u001b[36m  → one", "    two\u001b[39m", "    three"],
    },
  ])("breaks $title", ({ pieces, lines }) => {
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
