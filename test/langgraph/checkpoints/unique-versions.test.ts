import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { expect, it } from "vitest";
import { replaceMethods } from "../../../src/threads/langgraph/replace-methods.js";
import { withUniqueVersions } from "../../../src/threads/watch-checkpointer.js";

const next = (saver: BaseCheckpointSaver, current: number | undefined) => saver.getNextVersion(current);

it("Versions grow from any version of a thread, and are numbers of one run alone", () => {
  const versions = fc.double({ min: 0, max: 1_000_000, noNaN: true });
  fc.assert(
    fc.property(fc.option(versions, { nil: undefined }), (current) => {
      const [one, other] = [0, 1].map(() => next(withUniqueVersions(new MemorySaver()), current));
      for (const version of [one, other]) {
        expect(version).toBeGreaterThan(current ?? 0);
        expect(Math.floor(version ?? 0)).toBe(Math.floor(current ?? 0) + 1);
        // A database stores it as JSON, and a column has its text.
        expect(JSON.stringify(version)).toBe(String(version));
        expect(String(version)).toMatch(/^\d+\.\d+$/);
      }
      expect(one).not.toBe(other);
    }),
  );
});

it("One run gives the same version twice for the same state, because LangGraph asks for each superstep anew", () => {
  const saver = withUniqueVersions(new MemorySaver());
  expect(next(saver, 3)).toBe(next(saver, 3));
  expect(next(saver, next(saver, 3))).toBe(next(saver, 3) + 1);
});

it("A checkpointer with versions that are not whole numbers keeps them", () => {
  const text = replaceMethods(new MemorySaver(), { getNextVersion: (() => "0002.abc") as never });
  expect(next(withUniqueVersions(text), undefined)).toBe("0002.abc");
});
