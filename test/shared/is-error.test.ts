/** Errors inside errors: what LangChain's wrappers hide, and what a program means by another error. */

import { describe, expect, it } from "vitest";
import { causesOf, isOfAbort, withoutWrappers } from "../../src/shared/is-error.js";

/** An error in this many wrappers that say the same. */
function wrap(error: Error, count: number): Error {
  if (count === 0) return error;
  const wrapper = Object.assign(new Error(error.message, { cause: error }), { name: error.name });
  return wrap(wrapper, count - 1);
}

const named = (name: string, message: string, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), { name });

describe("The error that was thrown", () => {
  it.each([0, 1, 6, 40])("is found in %i wrappers", (count) => {
    const thrown = named("ModelError", "refused", named("BadRequestError", "refused"));
    expect(withoutWrappers(wrap(thrown, count))).toBe(thrown);
  });

  it("is an error that says anything else than its cause", () => {
    const inner = wrap(named("ModelError", "refused"), 2);
    for (const own of [named("ModelError", "no", inner), named("Error", "refused", inner)])
      expect(withoutWrappers(wrap(own, 2))).toBe(own);
  });

  it.each([["a text"], [undefined], [null], [404], [{ message: "an object" }]])("can be %j", (thrown) => {
    expect(withoutWrappers(thrown)).toBe(thrown);
  });

  it("is read once in a circle", () => {
    const error = named("Error", "round");
    error.cause = wrap(error, 3);
    expect(causesOf(error)).toHaveLength(4);
    expect(causesOf(error)).toContain(withoutWrappers(error));
  });
});

describe("An error of an abort", () => {
  const reason = new Error("The user left.");
  const signal = AbortSignal.abort(reason);
  it.each([
    ["its reason", reason],
    ["its reason in wrappers", wrap(reason, 3)],
    [
      "another error that its reason caused",
      new Error("stopped", { cause: new Error("x", { cause: reason }) }),
    ],
    ["an error that says so", named("AbortError", "x")],
  ])("is %s", (_, error) => {
    expect(isOfAbort(error, signal)).toBe(true);
  });

  it("is nothing else, and nothing before the abort", () => {
    expect(isOfAbort(new Error("no seat left"), signal)).toBe(false);
    expect(isOfAbort(reason, new AbortController().signal)).toBe(false);
    expect(isOfAbort("gone", AbortSignal.abort("gone"))).toBe(true);
  });
});
