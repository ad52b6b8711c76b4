import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { rewriteHistory } from "../../../src/history/reducer/rewrite-history.js";
import { build, type Entry, entries, messageEntries } from "../../support/arbitraries.js";
import { runs } from "../../support/law-runs.js";
import { messagesIn } from "../../support/make-messages.js";
import { toPlainList } from "../../support/plain-messages.js";

const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

describe("A rewritten history", () => {
  it.each(
    Object.entries({
      "if every call has a result": "a(c,d) r:c s:d",
      "with an open call before a call of the same id that has a result": "a(c,d,c) r:d s:c h",
      "with a placeholder before a result for another call of its id": "a(c,c,d) p?c r:c h",
      "with an open call, a placeholder and a result of one id": "a(c,d,c,c) r:d p?c s:c",
    }),
  )("is the same as before %s", (_title, line) => {
    const history = messagesIn(line);
    const { messages } = reduceMessages(messagesIn("before"), rewriteHistory(history));
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
