/** The laws of the reducer, for any thread that can be written, and the written rules that it is compared with. */

import { BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { coerceMessage } from "../../src/history/read-messages.js";
import { type ReducedMessages, reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { coverageOf } from "../../src/history/summary.js";
import { pairedMessagesDeltaReducer } from "../../src/threads/langgraph/channels.js";
import { build, buildDistinct, entries, isGivenId, splits } from "../support/arbitraries.js";
import { noMessage } from "../support/foreign-values.js";
import { reduceByTheRules } from "../support/oracle.js";
import { snapshot, toPlain, toPlainList } from "../support/plain-messages.js";
import { stateViolations } from "../support/strict-check.js";
import { expectWarnings, law, OLD_PACKAGES } from "../support/test-tools.js";

// LangChain warns when it reads calls that stand only in `additional_kwargs`.
expectWarnings(OLD_PACKAGES);

const RUNS = 500;

const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

/** Entries are built anew for each reduction: the reducer writes missing ids into the messages. */
const updates = entries();
const values = entries().map(build);
const states = values.map((list) => reduce([], list));

describe("The reducer agrees with the written rules", () => {
  law("after each message, from an empty thread", 1_000, [entries(30)], (list) => {
    let state: BaseMessage[] = [];
    const copies = build(list);
    for (const [index, value] of build(list).entries()) {
      const expected = reduceByTheRules(state, [copies[index]]);
      state = reduce(state, [value]);
      expect(toPlainList(state)).toEqual(toPlainList(expected));
    }
  });

  const long = Array.from({ length: 300 }, (_, index) => new HumanMessage({ content: "x", id: `h${index}` }));
  law(
    "in a long thread, of which an inserted message moves hundreds",
    50,
    [entries(6).map(build), entries(8)],
    (first, second) => {
      const state = reduce(reduce([], first), long);
      const expected = reduceByTheRules(state, build(second));
      expect(toPlainList(reduce(state, build(second)))).toEqual(toPlainList(expected));
    },
  );
});

function cut(values: readonly unknown[], marks: readonly boolean[]): unknown[][] {
  const batches: unknown[][] = [[]];
  for (const [index, value] of values.entries()) {
    batches.at(-1)?.push(value);
    if (marks[index]) batches.push([]);
  }
  return batches;
}

describe("An update is a left fold over its messages", () => {
  law("so splitting it makes no difference", RUNS, [states, updates, splits], (state, update, marks) => {
    const atOnce = toPlainList(reduce(state, build(update)));
    const batches = cut(build(update), marks);
    expect(toPlainList(batches.reduce<BaseMessage[]>(reduce, state))).toEqual(atOnce);
    const singly = build(update).map((value) => [value]);
    expect(toPlainList(singly.reduce<BaseMessage[]>(reduce, state))).toEqual(atOnce);
  });

  law(
    "so a delta channel can batch writes in any way",
    RUNS,
    [updates, updates, splits],
    (before, update, marks) => {
      const state = pairedMessagesDeltaReducer([], [build(before)]);
      const atOnce = toPlainList(pairedMessagesDeltaReducer(state, cut(build(update), marks)));
      const oneByOne = cut(build(update), marks).reduce<BaseMessage[]>(
        (history, write) => pairedMessagesDeltaReducer(history, [write]),
        state,
      );
      expect(toPlainList(oneByOne)).toEqual(atOnce);
      expect(toPlainList(reduce(state, build(update)))).toEqual(atOnce);
    },
  );

  const serializer = new JsonPlusSerializer();
  law(
    "so saving and reading it in between makes no difference",
    RUNS,
    [entries(12), entries(12)],
    async (first, second) => {
      const state = reduce([], build(first));
      const loaded: BaseMessage[] = await serializer.loadsTyped(...(await serializer.dumpsTyped(state)));
      expect(toPlainList(loaded)).toEqual(toPlainList(state));
      expect(toPlainList(reduce(loaded, build(second)))).toEqual(toPlainList(reduce(state, build(second))));
    },
  );

  law("so a replay from the beginning gives the same ids", RUNS, [entries(), splits], (list, marks) => {
    const play = () => toPlainList(cut(build(list), marks).reduce<BaseMessage[]>(reduce, []));
    expect(play()).toEqual(play());
  });
});

describe("Every state is in order", () => {
  law(
    "with results at their calls, unique ids, and only stored messages",
    RUNS,
    [updates, splits],
    (update, marks) => {
      let state: BaseMessage[] = [];
      for (const batch of cut(build(update), marks)) {
        state = reduce(state, batch);
        expect(stateViolations(state)).toEqual([]);
      }
    },
  );

  law(
    "whatever was stored before, and an ordered state does not change",
    RUNS,
    [values, updates],
    (stored, update) => {
      const { messages } = reduceMessages(stored, []);
      expect(stateViolations(messages)).toEqual([]);
      expect(reduceMessages([...messages], [])).toEqual({ messages, repairs: [] });
      expect(toPlainList(reduce(stored, build(update)))).toEqual(
        toPlainList(reduce(messages, build(update))),
      );
    },
  );

  law(
    "even if one message of an ordered state was moved or repeated",
    RUNS,
    [states, fc.nat(), fc.nat(), fc.boolean()],
    (state, from, to, isCopy) => {
      fc.pre(state.length > 0);
      const message = state[from % state.length];
      const rest = isCopy ? state : state.filter((one) => one !== message);
      const copy = isCopy ? copyWithId(message, "copy") : message;
      const stored = rest.toSpliced(to % (rest.length + 1), 0, ...(copy === undefined ? [] : [copy]));
      const { messages, repairs } = reduceMessages(stored, []);
      expect(stateViolations(messages)).toEqual([]);
      expect(messages === stored).toBe(stateViolations(stored).length === 0);
      expect(repairs.length > 0).toBe(messages !== stored);
    },
  );

  const anything = fc.oneof(fc.anything(), noMessage, values);
  law(
    "whatever values the reducer gets, and it never throws",
    RUNS,
    [anything, fc.array(anything)],
    (state, update) => {
      expect(stateViolations(reduce(state, update))).toEqual([]);
      expect(stateViolations(reduce(reduce([], update), state))).toEqual([]);
    },
  );
});

function copyWithId(message: BaseMessage | undefined, id: string): BaseMessage | undefined {
  if (message === undefined) return undefined;
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { id });
}

describe("Nothing is lost without a request or a report", () => {
  law(
    "each message is in the state, or was removed, replaced or archived by its id, or is in a repair",
    RUNS,
    [entries(), entries()],
    (first, second) => {
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
    },
  );
});

/** The messages that one value removed without a report. */
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
  law(
    "an empty update, or the state itself, gives the same array, also of a list that is not known",
    RUNS,
    [states],
    (state) => {
      for (const update of [[], undefined, null, state]) expect(reduce(state, update)).toBe(state);
      const copy = [...state];
      const { messages, repairs } = reduceMessages(copy, []);
      expect(messages).toBe(copy);
      expect(repairs).toEqual([]);
    },
  );

  law(
    "a state read from a checkpoint and written to itself gives an equal state",
    RUNS,
    [states],
    (state) => {
      expect(toPlainList(reduce(state, state.map(copyOf)))).toEqual(toPlainList(state));
    },
  );

  law(
    "messages of the history with ids can be written again without a change",
    RUNS,
    [states, values],
    (state, update) => {
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
    },
  );

  law(
    "a message that the update does not name keeps its identity",
    RUNS,
    [states, values],
    (state, update) => {
      const named = idsIn(update);
      const untouched = state.filter(({ id }) => isGivenId(id) && !named.has(id));
      for (const message of reduce(state, update)) {
        const former = untouched.find(({ id }) => id === message.id);
        if (former !== undefined) expect(message).toBe(former);
      }
    },
  );

  law(
    "no argument is changed, except that a missing id is written into a message that can be changed",
    RUNS,
    [states, entries()],
    (state, list) => {
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
    },
  );

  law(
    "messages that were sent without ids can be sent again without a change",
    RUNS,
    [states, entries()],
    (state, list) => {
      const heads = list.filter(({ kind }) => kind === "human" || kind === "system" || kind === "ai");
      const update = build(heads).filter(takesId);
      const after = reduce(state, update);
      expect(update.every(({ id }) => after.some((message) => message.id === id))).toBe(true);
      expect(toPlainList(reduce(after, update))).toEqual(toPlainList(after));
    },
  );

  const others = fc.array(values, { maxLength: 4 });
  law(
    "histories that branch from one another do not disturb each other",
    RUNS,
    [states, others, entries()],
    (trunk, branches, last) => {
      const trunkBefore = toPlainList(trunk);
      const grown = branches.map((branch) => reduce(trunk, branch));
      const plain = grown.map(toPlainList);
      const regrown = grown.map((branch) => toPlainList(reduce(branch, build(last))));
      expect(toPlainList(trunk)).toEqual(trunkBefore);
      expect(grown.map(toPlainList)).toEqual(plain);
      // The reducer does not know a copy, so nothing is cached for it.
      expect(regrown).toEqual(grown.map((branch) => toPlainList(reduce([...branch], build(last)))));
    },
  );
});
