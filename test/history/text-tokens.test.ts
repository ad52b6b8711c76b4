/** The estimate of tokens beside a real tokenizer: `o200k`, with which OpenAI counts. */

import fc from "fast-check";
import { getEncoding } from "js-tiktoken";
import { describe, expect, it } from "vitest";
import { countTextTokens } from "../../src/history/text-tokens.js";
import { heldOutSamples, tunedSamples } from "../support/sample-texts.js";
import { runs } from "../support/test-tools.js";

const o200k = getEncoding("o200k_base");
const ratioOf = (text: string): number => countTextTokens(text) / o200k.encode(text, [], []).length;

describe("The estimate is between 0.85 and 1.3 of the count of", () => {
  it.each([...tunedSamples, ...heldOutSamples].map(({ kind, text }) => [kind, text] as const))(
    "%s",
    (_kind, text) => {
      expect(ratioOf(text)).toBeGreaterThanOrEqual(0.85);
      expect(ratioOf(text)).toBeLessThanOrEqual(1.3);
    },
  );

  it("a long text, of which parts are read", () => {
    const text = [...tunedSamples, ...heldOutSamples]
      .map((sample) => sample.text)
      .join("\n")
      .repeat(2);
    expect(text.length).toBeGreaterThan(400_000);
    expect(ratioOf(text)).toBeGreaterThanOrEqual(0.85);
    expect(ratioOf(text)).toBeLessThanOrEqual(1.3);
  });
});

it.each([
  ["nothing", "", 0],
  ["one token for a word", "word", 1],
  ["one for a word with the space before it", " word", 1],
  ["one for three digits", "123", 1],
  ["two for four", "1234", 2],
  ["one for an indentation, and one for the word after it", "\n    word", 4],
])("A text has %s", (_title, text, tokens) => {
  expect(countTextTokens(text)).toBe(tokens);
});

it("A beginning of a text has no more tokens than the text", () => {
  const characters = ["a", "B", "1", " ", "\n", ".", "_", "é", "文", "😀"];
  const law = fc.property(
    fc.string({ unit: fc.constantFrom(...characters), maxLength: 60 }),
    fc.nat(60),
    (text, length) => {
      expect(countTextTokens(text.slice(0, length))).toBeLessThanOrEqual(countTextTokens(text) + 1);
    },
  );
  fc.assert(law, runs(300));
});
