/** Values of another realm, such as a worker or a sandbox. Each realm has its own `Error`, `Object` and `Uint8Array`. */

import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { isError } from "../../src/shared/is-error.js";
import { isPlainObject, nativeClassOf } from "../../src/shared/values.js";

const foreign = (code: string): unknown => runInNewContext(code);

describe("isError", () => {
  it.each([
    ["an error", new Error("no")],
    ["an error of a subclass", new RangeError("no")],
    ["an abort", new DOMException("no", "AbortError")],
    ["an error of another realm", foreign('new TypeError("no")')],
  ])("is true for %s", (_title, value) => {
    expect(isError(value)).toBe(true);
  });

  it.each([
    ["a text", "no"],
    ["null", null],
    ["data", { name: "Error", message: "no" }],
  ])("is false for %s", (_title, value) => {
    expect(isError(value)).toBe(false);
  });
});

describe("isPlainObject", () => {
  it.each([
    ["an object", { a: 1 }],
    ["an object without a prototype", Object.create(null)],
    ["an object of another realm", foreign("({ a: 1 })")],
  ])("is true for %s", (_title, value) => {
    expect(isPlainObject(value)).toBe(true);
  });

  it.each([
    ["a list", []],
    ["a date", new Date(0)],
    ["a map of another realm", foreign("new Map()")],
    ["an object of a class", new (class Some {})()],
    ["null", null],
    ["a function", () => undefined],
  ])("is false for %s", (_title, value) => {
    expect(isPlainObject(value)).toBe(false);
  });
});

describe("nativeClassOf", () => {
  it.each([
    [new Uint8Array(1), "Uint8Array"],
    [Buffer.from("a"), "Uint8Array"],
    [foreign("new Uint8Array(1)"), "Uint8Array"],
    [new Headers(), "Headers"],
    [{}, "Object"],
    [undefined, "Undefined"],
  ])("of %s is %s", (value, name) => {
    expect(nativeClassOf(value)).toBe(name);
  });
});
