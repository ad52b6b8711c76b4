import { expect, it } from "vitest";
import { listWithOr } from "../../src/shared/text.js";

it.each([
  [[], ""],
  [["a"], "a"],
  [["a", "b"], "a or b"],
  [["a", "b", "c"], "a, b or c"],
])("lists %j in words", (items, words) => {
  expect(listWithOr(items)).toBe(words);
});
