import fc from "fast-check";
import { expect, it } from "vitest";
import { hashText } from "../../src/shared/json.js";
import { runs } from "../support/law-runs.js";

it("is the same for the same text, at any time", () => {
  expect(hashText("")).toMatchInlineSnapshot(`"b47eca36dcfde347d84d95cd3371f8c1"`);
  expect(hashText("abc")).toMatchInlineSnapshot(`"eb566c852ced40fcb689a1fca8dbda92"`);
});

it("has 32 hexadecimal digits, for any text", () => {
  // Any units at all, lone surrogates too.
  const law = fc.property(fc.uint16Array(), (units) => {
    expect(hashText(String.fromCharCode(...units))).toMatch(/^[0-9a-f]{32}$/);
  });
  fc.assert(law, runs(500));
});

it("differs for texts that differ in any unit, lone surrogates too", () => {
  const texts = [
    "",
    " ",
    "a",
    "b",
    "你",
    "好",
    "\u0160",
    "`",
    "\ud800",
    "\udc00",
    "\ufffd",
    "a ",
    " a",
    "\u0000",
  ];
  expect(new Set(texts.map(hashText)).size).toBe(texts.length);
});

it("has no equal half among many texts, so its parts are independent", () => {
  const hashes = Array.from({ length: 20_000 }, (_, index) => hashText(`message ${index}`));
  for (const [from, to] of [
    [0, 16],
    [16, 32],
    [8, 24],
  ])
    expect(new Set(hashes.map((hash) => hash.slice(from, to))).size).toBe(hashes.length);
});
