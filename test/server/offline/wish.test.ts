import { describe, expect, it } from "vitest";
import { partsOf } from "../../../server/offline/questions.js";

const joined = (text: string) =>
  partsOf(text)
    .map((part) => part.text)
    .join("");

describe("partsOf", () => {
  it("gives a short text as it is", () => {
    expect(partsOf("what is 6*7?")).toEqual([{ start: 0, text: "what is 6*7?" }]);
  });

  it.each(["a word, ", "x", "no end ", ";", "one. Two! "])(
    "divides a long text of %j, and leaves nothing out",
    (words) => {
      const text = words.repeat(3_000);
      const parts = partsOf(text);
      expect(joined(text)).toBe(text);
      for (const { start, text: part } of parts) {
        expect(part.length).toBeLessThanOrEqual(2_000);
        expect(text.startsWith(part, start)).toBe(true);
      }
      expect(parts.length).toBeLessThan(text.length / 900);
    },
  );

  it("makes a long gap a separator of the same length", () => {
    expect(joined(`a${" ".repeat(40)}b`)).toBe(`a${";".repeat(40)}b`);
  });
});
