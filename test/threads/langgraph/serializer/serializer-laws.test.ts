/** The serializer and LangGraph's do the same, for any value and any stored text. */

import fc from "fast-check";
import { afterAll, beforeAll, describe, vi } from "vitest";
import { type Recipe, recipes, storedTexts, treeRecipes } from "../../../support/stored-arbitraries.js";
import { law } from "../../../support/test-tools.js";
import {
  countedSerializer,
  expectSame,
  expectSameReading,
  outcomeOf,
} from "../../../support/two-serializers.js";

const RUNS = 1_000;

// LangChain warns of calls that are only in `additional_kwargs`.
beforeAll(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));
afterAll(() => void vi.restoreAllMocks());

describe("The serializer of this library and LangGraph's", async () => {
  const ours = await countedSerializer();

  law("write the same, and read the same of it", RUNS, [recipes], (make) => expectSame(ours, () => make([])));

  const choices = fc.infiniteStream(fc.nat());
  law(
    "write the same of a value that was written before, and has changed",
    RUNS,
    [treeRecipes, treeRecipes, choices],
    async (make, other, chosen) => {
      const value = { root: make([]) };
      await outcomeOf(ours.dumpsTyped(value));
      change(value, other, chosen);
      await expectSame(ours, () => value);
    },
  );

  law("read the same of any text", RUNS, [storedTexts], (text) => expectSameReading(ours, "json", text));
});

/** Writes another value into an object somewhere below, if it can be written. */
function change(value: object, other: Recipe, choices: Iterator<number>): void {
  const choose = (count: number): number => Number(choices.next().value) % count;
  let within: object = value;
  for (;;) {
    const keys = Object.keys(within);
    const key = keys[choose(Math.max(1, keys.length))] ?? "a";
    const inner: unknown = Reflect.get(within, key);
    if (typeof inner === "object" && inner !== null && Object.keys(inner).length > 0 && choose(4) > 0) {
      within = inner;
      continue;
    }
    const name = choose(4) === 0 ? "additional_kwargs" : key;
    if (choose(5) === 0) Reflect.deleteProperty(within, name);
    // Bytes take numbers only.
    else if (!ArrayBuffer.isView(within)) Reflect.set(within, name, other([]));
    return;
  }
}
