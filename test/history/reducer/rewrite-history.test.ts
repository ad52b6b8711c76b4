import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { rewriteHistory } from "../../../src/history/reducer/rewrite-history.js";
import { build, type Entry, entries, messageEntries } from "../../support/arbitraries.js";
import { runs } from "../../support/law-runs.js";
import { ai, human, placeholder, result } from "../../support/make-messages.js";
import { outline, toPlainList } from "../../support/plain-messages.js";

const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

describe("A rewritten history", () => {
  it.each<{ title: string; history: BaseMessage[] }>([
    { title: "if every call has a result", history: [ai("a", "c", "d"), result("r", "c"), result("s", "d")] },
    {
      title: "with an open call before a call of the same id that has a result",
      history: [ai("a", "c", "d", "c"), result("r", "d"), result("s", "c"), human("h")],
    },
    {
      title: "with a placeholder before a result for another call of its id",
      history: [ai("a", "c", "c", "d"), placeholder("p", "c"), result("r", "c"), human("h")],
    },
    {
      title: "with an open call, a placeholder and a result of one id",
      history: [ai("a", "c", "d", "c", "c"), result("r", "d"), placeholder("p", "c"), result("s", "c")],
    },
  ])("is the same as before $title", ({ history }) => {
    const { messages } = reduceMessages([human("before")], rewriteHistory(history));
    expect(outline(messages)).toBe(outline(history));
    expect(toPlainList(messages)).toEqual(toPlainList(history));
  });

  const hasNoSummary = (list: readonly Entry[]) => list.every(({ kind }) => kind !== "summary");
  const written = entries().filter(hasNoSummary);
  const stored = messageEntries().filter(hasNoSummary);

  it("is the same as before, in any thread", () => {
    const law = fc.property(stored.map(build), written.map(build), (list, update) => {
      const history = reduce(list, update);
      const again = reduce(reduce([], update), rewriteHistory(history));
      expect(toPlainList(again)).toEqual(toPlainList(history));
    });
    fc.assert(law, runs(300));
  });
});
