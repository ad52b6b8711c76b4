/** Compares the reducer with a slow one that follows the written rules literally. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { build, entries } from "../support/arbitraries.js";
import { runs } from "../support/law-runs.js";
import { reduceByTheRules } from "../support/oracle.js";
import { toPlainList } from "../support/plain-messages.js";

const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

/** Built anew for each reduction: the reducer writes missing ids into the messages. */
const updates = entries();
const states = entries().map((list) => reduce([], build(list)));

describe("The reducer agrees with the written rules", () => {
  it("after each message, from an empty thread", () => {
    const law = fc.property(entries(30), (list) => {
      let state: BaseMessage[] = [];
      const copies = build(list);
      for (const [index, value] of build(list).entries()) {
        const expected = reduceByTheRules(state, [copies[index]]);
        state = reduce(state, [value]);
        expect(toPlainList(state)).toEqual(toPlainList(expected));
      }
    });
    fc.assert(law, runs(1_000));
  });

  it("for a complete update", () => {
    const law = fc.property(states, updates, (state, update) => {
      const expected = reduceByTheRules(state, build(update));
      expect(toPlainList(reduce(state, build(update)))).toEqual(toPlainList(expected));
    });
    fc.assert(law, runs(500));
  });
});

describe("The reducer agrees with the written rules in a long thread", () => {
  it("when an inserted message moves hundreds of others", () => {
    const long = Array.from(
      { length: 300 },
      (_, index) => new HumanMessage({ content: "x", id: `h${index}` }),
    );
    const law = fc.property(entries(6), entries(8), (first, second) => {
      const state = reduce(reduce([], build(first)), long);
      const expected = reduceByTheRules(state, build(second));
      expect(toPlainList(reduce(state, build(second)))).toEqual(toPlainList(expected));
    });
    fc.assert(law, runs(50));
  });
});
