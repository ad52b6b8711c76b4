/** Texts, bytes and values that the rest of the code relies on. */

import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isError } from "../../src/shared/is-error.js";
import { decodeBase64Text, encodeBase64, hashText } from "../../src/shared/json.js";
import { didYouMean, listWithOr, nearestOf } from "../../src/shared/text.js";
import { isPlainObject, nativeClassOf } from "../../src/shared/values.js";
import { law } from "../support/test-tools.js";

describe("Base64 is that of Node's buffers:", () => {
  law("of bytes", 100, [fc.uint8Array()], (bytes) => {
    expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
  });

  it("of a file with more bytes than a function can take arguments", () => {
    const bytes = new Uint8Array(300_000).map((_, index) => index % 251);
    expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
  });

  const base64 = fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64"));
  const base64url = fc.string({ unit: "binary" }).map((text) => Buffer.from(text).toString("base64url"));
  const texts = fc.oneof(base64, base64url, fc.string({ unit: "binary-ascii" }));
  law("of text, even if it is not base64", 500, [texts], (encoded) => {
    expect(decodeBase64Text(encoded)).toBe(Buffer.from(encoded, "base64").toString());
  });

  it.each([
    ["日本", ""],
    ["77u/R3LDvMOfZQ==", "\uFEFFGrüße"],
  ])("of %s", (encoded, text) => {
    expect(decodeBase64Text(encoded)).toBe(text);
  });
});

describe("The hash of a text", () => {
  it("is the same for the same text, at any time", () => {
    expect(hashText("")).toBe("12ae32cb1ec02d01eda3581b127c1fee");
    expect(hashText("abc")).toBe("6cc43f858fbb763301637b5af970e2a4");
  });

  // Any units at all, lone surrogates too.
  law("has 32 hexadecimal digits, for any text", 500, [fc.uint16Array()], (units) => {
    expect(hashText(String.fromCharCode(...units))).toMatch(/^[0-9a-f]{32}$/);
  });

  it("differs for texts that differ in any unit, lone surrogates too", () => {
    const spaced = ["", " ", "a", "b", "a ", " a", "`", "\u0000"];
    const texts = [...spaced, "你", "好", "\u0160", "\ud800", "\udc00", "\ufffd"];
    expect(new Set(texts.map(hashText)).size).toBe(texts.length);
  });

  it("has no equal half among many texts, so its parts are independent", () => {
    const hashes = Array.from({ length: 20_000 }, (_, index) => hashText(`message ${index}`));
    for (const from of [0, 8, 16])
      expect(new Set(hashes.map((hash) => hash.slice(from, from + 16))).size).toBe(hashes.length);
  });
});

const NAMES = [
  "maxIterations",
  "maxToolCalls",
  "tools",
  "toolChoice",
  "google-genai",
  "google-vertexai",
  "openai",
];

it.each([
  ["maxIteration", "maxIterations"],
  ["max_iterations", "maxIterations"],
  ["MAXITERATIONS", "maxIterations"],
  ["tool", "tools"],
  ["opnai", "openai"],
  ["google", "google-genai"],
  ["max", undefined],
  ["prompt", undefined],
  ["weather", undefined],
  ["", undefined],
  ["-", undefined],
  ["__proto__", undefined],
])("%j is near to %j", (given, nearest) => {
  expect(nearestOf(given, NAMES)).toBe(nearest);
  expect(didYouMean(given, NAMES)).toBe(nearest === undefined ? "" : ` Did you mean \`${nearest}\`?`);
});

it.each([
  [[], ""],
  [["a"], "a"],
  [["a", "b"], "a or b"],
  [["a", "b", "c"], "a, b or c"],
])("%j are listed in words", (items, words) => {
  expect(listWithOr(items)).toBe(words);
});

/** Of a worker or a sandbox. Each realm has its own `Error`, `Object` and `Uint8Array`. */
const foreign = (code: string): unknown => runInNewContext(code);

it.each([
  ["an error", new Error("no"), true],
  ["an error of a subclass", new RangeError("no"), true],
  ["an abort", new DOMException("no", "AbortError"), true],
  ["an error of another realm", foreign('new TypeError("no")'), true],
  ["a text", "no", false],
  ["null", null, false],
  ["data", { name: "Error", message: "no" }, false],
])("isError, of %s", (_title, value, expected) => {
  expect(isError(value)).toBe(expected);
});

it.each([
  ["an object", { a: 1 }, true],
  ["an object without a prototype", Object.create(null), true],
  ["an object of another realm", foreign("({ a: 1 })"), true],
  ["a list", [], false],
  ["a date", new Date(0), false],
  ["a map of another realm", foreign("new Map()"), false],
  ["an object of a class", new (class Some {})(), false],
  ["null", null, false],
  ["a function", () => undefined, false],
])("isPlainObject, of %s", (_title, value, expected) => {
  expect(isPlainObject(value)).toBe(expected);
});

it.each([
  [new Uint8Array(1), "Uint8Array"],
  [Buffer.from("a"), "Uint8Array"],
  [foreign("new Uint8Array(1)"), "Uint8Array"],
  [new Headers(), "Headers"],
  [{}, "Object"],
  [undefined, "Undefined"],
])("nativeClassOf, of %s: %s", (value, name) => {
  expect(nativeClassOf(value)).toBe(name);
});
