import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { hashText } from "../../src/shared/hash-text.js";

const byNode = (text: string) => createHash("sha256").update(text).digest("hex");

it("The hashes of an empty text and of a word equal the published ones.", () => {
  expect(hashText("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(hashText("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

it("A text of any length up to four blocks has the same hash as in Node.", () => {
  for (let length = 0; length <= 256; length += 1) {
    const text = "x".repeat(length);
    expect(hashText(text), `${length} characters`).toBe(byNode(text));
  }
});

it("Every text has the same hash as in Node.", () => {
  const unit = fc.oneof(fc.string({ unit: "binary" }), fc.constant("\uD800"));
  fc.assert(
    fc.property(fc.tuple(unit, fc.integer({ min: 0, max: 60 })), ([text, times]) => {
      const repeated = text.repeat(times);
      return hashText(repeated) === byNode(repeated);
    }),
  );
});
