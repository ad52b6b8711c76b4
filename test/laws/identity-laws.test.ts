/** What the reducer does not change, for any thread that can be written. */

import { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { coerceMessage } from "../../src/history/read-messages.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { build, entries, isGivenId } from "../support/arbitraries.js";
import { runs } from "../support/law-runs.js";
import { snapshot, toPlain, toPlainList } from "../support/plain-messages.js";

const RUNS = runs(500);

const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

const updates = entries().map(build);
const states = entries().map((list) => reduce([], build(list)));

function idsIn(values: readonly unknown[]): Set<string | undefined> {
  return new Set(values.map((value) => coerceMessage(value)?.id));
}

function copyOf(message: BaseMessage): BaseMessage {
  return Object.create(Object.getPrototypeOf(message), Object.getOwnPropertyDescriptors(message));
}

/** Whether the reducer writes a derived id into the value. */
function takesId(value: unknown): value is BaseMessage {
  return BaseMessage.isInstance(value) && !value.id && !Object.isFrozen(value);
}

function withoutId(message: BaseMessage): BaseMessage {
  return Object.assign(copyOf(message), { id: "", lc_kwargs: { ...message.lc_kwargs, id: "" } });
}

describe("Unchanged content keeps its identity", () => {
  it("an empty update gives the same array", () => {
    const law = fc.property(states, (state) => {
      for (const nothing of [[], undefined, null]) expect(reduce(state, nothing)).toBe(state);
    });
    fc.assert(law, RUNS);
  });

  it("a state written to itself gives the same array", () => {
    fc.assert(
      fc.property(states, (state) => {
        expect(reduce(state, state)).toBe(state);
      }),
      RUNS,
    );
  });

  it("a state read from a checkpoint and written to itself gives an equal state", () => {
    const law = fc.property(states, (state) => {
      expect(toPlainList(reduce(state, state.map(copyOf)))).toEqual(toPlainList(state));
    });
    fc.assert(law, RUNS);
  });

  it("a clean list that the reducer has never seen is returned as the same array", () => {
    const law = fc.property(states, (state) => {
      const copy = [...state];
      const { messages, repairs } = reduceMessages(copy, []);
      expect(messages).toBe(copy);
      expect(repairs).toEqual([]);
    });
    fc.assert(law, RUNS);
  });

  it("messages of the history with ids can be written again without a change", () => {
    const law = fc.property(states, entries().map(build), (state, update) => {
      const after = reduce(state, update);
      const plain = toPlainList(after);
      const ids = after.map((message) => message.id);
      const repeated = update.filter((value) => {
        const message = coerceMessage(value);
        if (message === undefined) return false;
        const place = ids.indexOf(message.id);
        return place >= 0 && JSON.stringify(plain[place]) === JSON.stringify(toPlain(message));
      });
      expect(toPlainList(reduce(after, repeated))).toEqual(plain);
    });
    fc.assert(law, RUNS);
  });

  it("a message that the update does not name keeps its identity", () => {
    const law = fc.property(states, updates, (state, update) => {
      const named = idsIn(update);
      const untouched = state.filter(({ id }) => isGivenId(id) && !named.has(id));
      for (const message of reduce(state, update)) {
        const former = untouched.find(({ id }) => id === message.id);
        if (former !== undefined) expect(message).toBe(former);
      }
    });
    fc.assert(law, RUNS);
  });

  it("no argument is changed, except that a missing id is written into a message that can be changed", () => {
    const law = fc.property(states, entries(), (state, list) => {
      const update = build(list);
      const identified = new Set(update.filter(takesId));
      const look = () =>
        snapshot([
          state,
          update.map((value) =>
            identified.has(value as BaseMessage) ? withoutId(value as BaseMessage) : value,
          ),
        ]);
      const before = look();
      reduce(state, update);
      expect(look()).toEqual(before);
    });
    fc.assert(law, RUNS);
  });

  it("messages that were sent without ids can be sent again without a change", () => {
    const law = fc.property(states, entries(), (state, list) => {
      const heads = list.filter(({ kind }) => kind === "human" || kind === "system" || kind === "ai");
      const update = build(heads).filter(takesId);
      const after = reduce(state, update);
      expect(update.every(({ id }) => after.some((message) => message.id === id))).toBe(true);
      expect(toPlainList(reduce(after, update))).toEqual(toPlainList(after));
    });
    fc.assert(law, RUNS);
  });

  it("histories that branch from one another do not disturb each other", () => {
    const others = fc.array(updates, { maxLength: 4 });
    const law = fc.property(states, others, entries(), (trunk, branches, last) => {
      const trunkBefore = toPlainList(trunk);
      const grown = branches.map((branch) => reduce(trunk, branch));
      const plain = grown.map(toPlainList);
      const regrown = grown.map((branch) => toPlainList(reduce(branch, build(last))));
      expect(toPlainList(trunk)).toEqual(trunkBefore);
      expect(grown.map(toPlainList)).toEqual(plain);
      // The reducer does not know a copy, so nothing is cached for it.
      expect(regrown).toEqual(grown.map((branch) => toPlainList(reduce([...branch], build(last)))));
    });
    fc.assert(law, RUNS);
  });
});
