/** The laws of the reducer, for any thread that can be written. */

import { type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { coerceMessage } from "../../src/history/coerce-message.js";
import { pairedMessagesDeltaReducer } from "../../src/history/paired-messages-reducer.js";
import { type ReducedMessages, reduceMessages } from "../../src/history/reduce-messages.js";
import { coverageOf } from "../../src/history/summary.js";
import { build, buildDistinct, entries, isGivenId, noMessage, splits } from "../support/arbitraries.js";
import { reduceByTheRules } from "../support/oracle.js";
import { snapshot, toPlain, toPlainList } from "../support/plain-messages.js";
import { stateViolations } from "../support/strict-check.js";

const RUNS = { numRuns: 1_500 };

const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

/** The values of a list of entries, and a state that others led to. */
const updates = entries().map(build);
const states = entries().map((list) => reduce([], build(list)));

function cut(values: readonly unknown[], marks: readonly boolean[]): unknown[][] {
  const batches: unknown[][] = [[]];
  for (const [index, value] of values.entries()) {
    batches.at(-1)?.push(value);
    if (marks[index]) batches.push([]);
  }
  return batches;
}

function idsIn(values: readonly unknown[]): Set<string | undefined> {
  return new Set(values.map((value) => coerceMessage(value)?.id));
}

function copyOf(message: BaseMessage): BaseMessage {
  return Object.create(Object.getPrototypeOf(message), Object.getOwnPropertyDescriptors(message));
}

describe("An update is a left fold over its messages", () => {
  it("so it makes no difference how it is split", () => {
    const law = fc.property(states, updates, splits, (state, update, marks) => {
      const atOnce = toPlainList(reduce(state, update));
      expect(toPlainList(cut(update, marks).reduce<BaseMessage[]>(reduce, state))).toEqual(atOnce);
      expect(toPlainList(update.map((value) => [value]).reduce<BaseMessage[]>(reduce, state))).toEqual(
        atOnce,
      );
    });
    fc.assert(law, RUNS);
  });

  it("so a delta channel may batch the writes as it likes", () => {
    const law = fc.property(updates, updates, splits, (before, update, marks) => {
      const state = pairedMessagesDeltaReducer([], [before]);
      const batches = cut(update, marks);
      const atOnce = toPlainList(pairedMessagesDeltaReducer(state, batches));
      const oneByOne = batches.reduce<BaseMessage[]>(
        (history, write) => pairedMessagesDeltaReducer(history, [write]),
        state,
      );
      expect(toPlainList(oneByOne)).toEqual(atOnce);
      expect(toPlainList(reduce(state, update))).toEqual(atOnce);
    });
    fc.assert(law, RUNS);
  });

  it("so a state that was saved and read in between leads to the same", () => {
    const serializer = new JsonPlusSerializer();
    const law = fc.asyncProperty(entries(12).map(build), entries(12).map(build), async (first, second) => {
      const state = reduce([], first);
      const loaded: BaseMessage[] = await serializer.loadsTyped(...(await serializer.dumpsTyped(state)));
      expect(toPlainList(loaded)).toEqual(toPlainList(state));
      expect(toPlainList(reduce(loaded, second))).toEqual(toPlainList(reduce(state, second)));
    });
    return fc.assert(law, RUNS);
  });

  it("so a replay from the beginning gives the same ids", () => {
    const law = fc.property(entries(), splits, (list, marks) => {
      const play = () => toPlainList(cut(build(list), marks).reduce<BaseMessage[]>(reduce, []));
      expect(play()).toEqual(play());
    });
    fc.assert(law, RUNS);
  });
});

describe("The reducer agrees with the rules as they read", () => {
  it("after each message, from an empty thread", () => {
    const law = fc.property(entries(30), (list) => {
      let state: BaseMessage[] = [];
      for (const value of build(list)) {
        const expected = reduceByTheRules(state, [value]);
        state = reduce(state, [value]);
        expect(toPlainList(state)).toEqual(toPlainList(expected));
      }
    });
    fc.assert(law, { numRuns: 3_000 });
  });

  it("for a whole update", () => {
    const law = fc.property(states, updates, (state, update) => {
      expect(toPlainList(reduce(state, update))).toEqual(toPlainList(reduceByTheRules(state, update)));
    });
    fc.assert(law, RUNS);
  });
});

describe("The reducer agrees with the rules in a long thread too", () => {
  it("where a message that is put in moves hundreds of others", () => {
    const long = Array.from(
      { length: 300 },
      (_, index) => new HumanMessage({ content: "x", id: `h${index}` }),
    );
    const law = fc.property(entries(6).map(build), entries(8).map(build), (first, second) => {
      const state = reduce(reduce([], first), long);
      expect(toPlainList(reduce(state, second))).toEqual(toPlainList(reduceByTheRules(state, second)));
    });
    fc.assert(law, { numRuns: 100 });
  });
});

describe("What is the same stays the same", () => {
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

  it("a state written to itself as it was read from a checkpoint gives an equal state", () => {
    const law = fc.property(states, (state) => {
      expect(toPlainList(reduce(state, state.map(copyOf)))).toEqual(toPlainList(state));
    });
    fc.assert(law, RUNS);
  });

  it("a clean list that the reducer has never seen is given back as it is", () => {
    const law = fc.property(states, (state) => {
      const copy = [...state];
      const { messages, repairs } = reduceMessages(copy, []);
      expect(messages).toBe(copy);
      expect(repairs).toEqual([]);
    });
    fc.assert(law, RUNS);
  });

  it("messages that have ids and are all there may be written again", () => {
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

  it("nothing that was handed over is changed", () => {
    const law = fc.property(states, updates, (state, update) => {
      const before = snapshot([state, update]);
      reduce(state, update);
      expect(snapshot([state, update])).toEqual(before);
    });
    fc.assert(law, RUNS);
  });

  it("histories that branch from one another do not disturb each other", () => {
    const law = fc.property(states, fc.array(updates, { maxLength: 4 }), updates, (trunk, branches, last) => {
      const trunkBefore = toPlainList(trunk);
      const grown = branches.map((branch) => reduce(trunk, branch));
      const plain = grown.map(toPlainList);
      const regrown = grown.map((branch) => toPlainList(reduce(branch, last)));
      expect(toPlainList(trunk)).toEqual(trunkBefore);
      expect(grown.map(toPlainList)).toEqual(plain);
      // A copy is not known to the reducer, so nothing is remembered of it.
      expect(regrown).toEqual(grown.map((branch) => toPlainList(reduce([...branch], last))));
    });
    fc.assert(law, RUNS);
  });
});

describe("Every state is in order", () => {
  it("with results at their calls, unique ids, and nothing but stored messages", () => {
    const law = fc.property(updates, splits, (update, marks) => {
      let state: BaseMessage[] = [];
      for (const batch of cut(update, marks)) {
        state = reduce(state, batch);
        expect(stateViolations(state)).toEqual([]);
      }
    });
    fc.assert(law, RUNS);
  });

  it("whatever was stored before, and once in order it stays as it is", () => {
    const law = fc.property(entries().map(build), updates, (stored, update) => {
      const { messages } = reduceMessages(stored, []);
      expect(stateViolations(messages)).toEqual([]);
      expect(reduceMessages([...messages], [])).toEqual({ messages, repairs: [] });
      expect(toPlainList(reduce(stored, update))).toEqual(toPlainList(reduce(messages, update)));
    });
    fc.assert(law, RUNS);
  });

  it("whatever is handed to the reducer, which never throws", () => {
    const anything = fc.oneof(fc.anything(), noMessage, updates);
    const law = fc.property(anything, fc.array(anything), (state, update) => {
      expect(stateViolations(reduce(state, update))).toEqual([]);
      expect(stateViolations(reduce(reduce([], update), state))).toEqual([]);
    });
    fc.assert(law, RUNS);
  });
});

describe("Nothing is lost without a name or a report", () => {
  it("each message is in the state, or was removed, replaced or archived by name, or is in a repair", () => {
    const law = fc.property(entries(), entries(), (first, second) => {
      const state = reduce([], buildDistinct(first));
      const update = buildDistinct(
        second.map((entry) => ("text" in entry ? { ...entry, text: "new" } : entry)),
      );
      let before = state;
      for (const value of update) {
        const result = reduceMessages(before, [value]);
        expect(lost(before, value, result)).toEqual([]);
        before = result.messages;
      }
    });
    fc.assert(law, RUNS);
  });
});

/** The messages that one value made disappear without a trace. */
function lost(
  before: readonly BaseMessage[],
  value: unknown,
  { messages, repairs }: ReducedMessages,
): unknown[] {
  const written = coerceMessage(value);
  if (written === undefined) return repairs.some((repair) => "value" in repair) ? [] : [value];
  if (RemoveMessage.isInstance(written) && written.id === REMOVE_ALL_MESSAGES) return messages;
  const kept = [...messages, ...repairs.flatMap((repair) => ("message" in repair ? repair.message : []))];
  const texts = new Set(kept.map(textOf));
  const coverage = coverageOf(written);
  const archived = coverage?.kind === "archive" ? coverage.messages : [];
  const isNamed = ({ id }: BaseMessage) => id === written.id || archived.includes(id ?? "");
  const candidates = RemoveMessage.isInstance(written) ? [] : [written];
  const gone = before.filter((message) => !isNamed(message));
  return [...gone, ...candidates].filter((message) => !texts.has(textOf(message)));
}

function textOf(message: BaseMessage): string {
  return JSON.stringify(message.content);
}
