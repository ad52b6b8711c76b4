/** The laws of the reducer, for any thread that can be written. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { coerceMessage } from "../../src/history/read-messages.js";
import { type ReducedMessages, reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { coverageOf } from "../../src/history/summary.js";
import { pairedMessagesDeltaReducer } from "../../src/threads/langgraph/channels.js";
import { build, buildDistinct, entries, splits } from "../support/arbitraries.js";
import { noMessage } from "../support/foreign-values.js";
import { runs } from "../support/law-runs.js";
import { toPlainList } from "../support/plain-messages.js";
import { stateViolations } from "../support/strict-check.js";

const RUNS = runs(500);

const reduce = (state: unknown, update: unknown): BaseMessage[] => reduceMessages(state, update).messages;

/** Entries are built anew for each reduction: the reducer writes missing ids into the messages. */
const updates = entries();
const states = entries().map((list) => reduce([], build(list)));

function cut(values: readonly unknown[], marks: readonly boolean[]): unknown[][] {
  const batches: unknown[][] = [[]];
  for (const [index, value] of values.entries()) {
    batches.at(-1)?.push(value);
    if (marks[index]) batches.push([]);
  }
  return batches;
}

describe("An update is a left fold over its messages", () => {
  it("so splitting it makes no difference", () => {
    const law = fc.property(states, updates, splits, (state, update, marks) => {
      const atOnce = toPlainList(reduce(state, build(update)));
      const batches = cut(build(update), marks);
      expect(toPlainList(batches.reduce<BaseMessage[]>(reduce, state))).toEqual(atOnce);
      const singly = build(update).map((value) => [value]);
      expect(toPlainList(singly.reduce<BaseMessage[]>(reduce, state))).toEqual(atOnce);
    });
    fc.assert(law, RUNS);
  });

  it("so a delta channel can batch the writes in any way", () => {
    const law = fc.property(updates, updates, splits, (before, update, marks) => {
      const state = pairedMessagesDeltaReducer([], [build(before)]);
      const atOnce = toPlainList(pairedMessagesDeltaReducer(state, cut(build(update), marks)));
      const oneByOne = cut(build(update), marks).reduce<BaseMessage[]>(
        (history, write) => pairedMessagesDeltaReducer(history, [write]),
        state,
      );
      expect(toPlainList(oneByOne)).toEqual(atOnce);
      expect(toPlainList(reduce(state, build(update)))).toEqual(atOnce);
    });
    fc.assert(law, RUNS);
  });

  it("so saving and reading the state in between makes no difference", () => {
    // LangChain warns when it reads calls that stand only in `additional_kwargs`.
    vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const serializer = new JsonPlusSerializer();
    const law = fc.asyncProperty(entries(12), entries(12), async (first, second) => {
      const state = reduce([], build(first));
      const loaded: BaseMessage[] = await serializer.loadsTyped(...(await serializer.dumpsTyped(state)));
      expect(toPlainList(loaded)).toEqual(toPlainList(state));
      expect(toPlainList(reduce(loaded, build(second)))).toEqual(toPlainList(reduce(state, build(second))));
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

describe("Every state is in order", () => {
  it("with results at their calls, unique ids, and only stored messages", () => {
    const law = fc.property(updates, splits, (update, marks) => {
      let state: BaseMessage[] = [];
      for (const batch of cut(build(update), marks)) {
        state = reduce(state, batch);
        expect(stateViolations(state)).toEqual([]);
      }
    });
    fc.assert(law, RUNS);
  });

  it("whatever was stored before, and an ordered state does not change", () => {
    const law = fc.property(entries().map(build), updates, (stored, update) => {
      const { messages } = reduceMessages(stored, []);
      expect(stateViolations(messages)).toEqual([]);
      expect(reduceMessages([...messages], [])).toEqual({ messages, repairs: [] });
      expect(toPlainList(reduce(stored, build(update)))).toEqual(
        toPlainList(reduce(messages, build(update))),
      );
    });
    fc.assert(law, RUNS);
  });

  it("even if one message of an ordered state was moved or repeated", () => {
    const law = fc.property(states, fc.nat(), fc.nat(), fc.boolean(), (state, from, to, isCopy) => {
      fc.pre(state.length > 0);
      const message = state[from % state.length];
      const rest = isCopy ? state : state.filter((one) => one !== message);
      const copy = isCopy ? copyWithId(message, "copy") : message;
      const stored = rest.toSpliced(to % (rest.length + 1), 0, ...(copy === undefined ? [] : [copy]));
      const { messages, repairs } = reduceMessages(stored, []);
      expect(stateViolations(messages)).toEqual([]);
      expect(messages === stored).toBe(stateViolations(stored).length === 0);
      expect(repairs.length > 0).toBe(messages !== stored);
    });
    fc.assert(law, RUNS);
  });

  it("whatever values the reducer gets, and it never throws", () => {
    const anything = fc.oneof(fc.anything(), noMessage, updates.map(build));
    const law = fc.property(anything, fc.array(anything), (state, update) => {
      expect(stateViolations(reduce(state, update))).toEqual([]);
      expect(stateViolations(reduce(reduce([], update), state))).toEqual([]);
    });
    fc.assert(law, RUNS);
  });
});

function copyWithId(message: BaseMessage | undefined, id: string): BaseMessage | undefined {
  if (message === undefined) return undefined;
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { id });
}

describe("Nothing is lost without a request or a report", () => {
  it("each message is in the state, or was removed, replaced or archived by its id, or is in a repair", () => {
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
