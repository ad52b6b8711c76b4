/** The estimate of tokens beside a real tokenizer: `o200k`, with which OpenAI counts. */

import fc from "fast-check";
import { getEncoding } from "js-tiktoken";
import { describe, expect, it } from "vitest";
import { countTextTokens } from "../../src/history/text-tokens.js";
import { heldOutSamples, tunedSamples } from "../support/sample-texts.js";
import { runs } from "../support/test-tools.js";

const o200k = getEncoding("o200k_base");
const ratioOf = (text: string): number => countTextTokens(text) / o200k.encode(text, [], []).length;

const samples = [...tunedSamples, ...heldOutSamples];

describe("The estimate is between 0.85 and 1.3 of the count of", () => {
  it.each(samples.map(({ kind, text }) => [kind, text] as const))("%s", (_kind, text) => {
    expect(ratioOf(text)).toBeGreaterThanOrEqual(0.85);
    expect(ratioOf(text)).toBeLessThanOrEqual(1.3);
  });

  it.each([
    ["texts whose kind changes often", [700]],
    ["records of 2,000 characters, half digits and half prose", [1_000, "digits", "English prose"]],
    ["records with a field in base64", [400, "JSON", "base64", "English prose"]],
  ] as const)("long %s, of which parts are read", (_title, [length, ...kinds]) => {
    const total = kinds.length === 0 ? 3_500 : 40_000;
    const used = samples.flatMap(({ kind, text }) =>
      kinds.length === 0 || kinds.some((wanted) => wanted === kind)
        ? [text.repeat(total / text.length + 1)]
        : [],
    );
    const text = Array.from({ length: total / length }, (_, place) =>
      used.map((one) => one.slice(place * length, (place + 1) * length)).join(""),
    ).join("");
    expect(text.length).toBeGreaterThan(70_000);
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
    fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 60 }),
    fc.constantFrom(1, 40, 2_000),
    fc.nat(120_000),
    fc.nat(60),
    (part, times, length, more) => {
      const text = part.repeat(times);
      const [shorter, longer] = [text.slice(0, length), text.slice(0, length + more)];
      expect(countTextTokens(shorter)).toBeLessThanOrEqual(countTextTokens(longer) + 1);
    },
  );
  fc.assert(law, runs(300));
});
