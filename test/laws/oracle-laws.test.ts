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

const updates = entries().map(build);
const states = entries().map((list) => reduce([], build(list)));

describe("The reducer agrees with the written rules", () => {
  it("after each message, from an empty thread", () => {
    const law = fc.property(entries(30), (list) => {
      let state: BaseMessage[] = [];
      for (const value of build(list)) {
        const expected = reduceByTheRules(state, [value]);
        state = reduce(state, [value]);
        expect(toPlainList(state)).toEqual(toPlainList(expected));
      }
    });
    fc.assert(law, runs(1_000));
  });

  it("for a complete update", () => {
    const law = fc.property(states, updates, (state, update) => {
      expect(toPlainList(reduce(state, update))).toEqual(toPlainList(reduceByTheRules(state, update)));
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
    const law = fc.property(entries(6).map(build), entries(8).map(build), (first, second) => {
      const state = reduce(reduce([], first), long);
      expect(toPlainList(reduce(state, second))).toEqual(toPlainList(reduceByTheRules(state, second)));
    });
    fc.assert(law, runs(50));
  });
});
