/** The laws of messages with fields of wrong types, and with values that no checkpoint can store. */

import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { filterToolCalls, findSafeCutoff } from "../../src/history/cut.js";
import { cloneMessage } from "../../src/history/message.js";
import { issueOfShape, withoutNulls } from "../../src/history/message-shape.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { explainInput } from "../../src/providers/input/explain-input.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { build, entries } from "../support/arbitraries.js";
import { hostileLike, hostileMessage } from "../support/foreign-values.js";
import { stateViolations, strictViolations } from "../support/strict-check.js";
import { expectWarnings, law, OLD_PACKAGES } from "../support/test-tools.js";

expectWarnings(OLD_PACKAGES);

const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];
const RUNS = 200;

const lists = (hostile: fc.Arbitrary<unknown>): fc.Arbitrary<unknown[]> =>
  fc
    .tuple(
      entries(8).map(build),
      fc.array(hostile, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 4 }),
    )
    .map(([values, added, places]) =>
      added.reduce<unknown[]>((all, value, index) => {
        const place = (places[index] ?? 0) % (all.length + 1);
        return [...all.slice(0, place), value, ...all.slice(place)];
      }, values),
    );

const written = lists(fc.oneof(hostileLike, hostileMessage));
const stored = fc.array(hostileMessage, { minLength: 1, maxLength: 5 });
const histories: fc.Arbitrary<BaseMessage[]> = fc
  .tuple(
    entries(8).map((list) => reduceMessages([], build(list)).messages),
    stored,
  )
  .map(([sound, hostile]) => [...sound, ...hostile]);

describe("The reducer", () => {
  law("makes a sound state of any values", RUNS, [written, written], (first, second) => {
    const { messages } = reduceMessages(reduceMessages([], first).messages, second);
    expect(messages.flatMap((message) => issueOfShape(message) ?? [])).toEqual([]);
    expect(stateViolations(messages)).toEqual([]);
    expect(
      reduceMessages([...messages], []).messages.every((message, index) => message === messages[index]),
    ).toBe(true);
  });

  law("makes a sound state of any stored list", RUNS, [histories], (history) => {
    const { messages } = reduceMessages(history, []);
    expect(messages.flatMap((message) => issueOfShape(message) ?? [])).toEqual([]);
    expect(stateViolations(messages)).toEqual([]);
  });

  const { serde } = new MemorySaver();
  law("makes a state that a checkpoint stores and reads back", RUNS, [written], async (values) => {
    const { messages } = reduceMessages([], values);
    const read = await serde.loadsTyped(...(await serde.dumpsTyped({ channel_values: { messages } })));
    expect(read.channel_values.messages).toHaveLength(messages.length);
  });

  law("reports each message that it repaired", RUNS, [hostileMessage], (message) => {
    const { messages, repairs } = reduceMessages([], [message]);
    // A null is nothing, and no fault.
    const plain = withoutNulls(message);
    const isSound = issueOfShape(plain) === undefined;
    expect(repairs.some(({ kind }) => kind === "message-repaired")).toBe(!isSound);
    if (isSound && messages.length > 0) expect(messages[0]?.content).toEqual(plain.content);
  });
});

const anyList = fc.oneof(written, histories);
law(
  "Repairing gives a list that passes a strict check, and needs no further repair",
  RUNS,
  [anyList],
  (list) => {
    const { messages } = repairHistory(list);
    expect(strictViolations(messages)).toEqual([]);
    expect(repairHistory(messages)).toEqual({ messages, repairs: [] });
  },
);

const limit = fc.option(fc.nat({ max: 2 }), { nil: undefined });
describe.each(DIALECT_NAMES)("For %s", (dialect) => {
  law(
    "any stored list can be validated, and its model input is valid",
    60,
    [histories, limit],
    (history, max) => {
      expect(Array.isArray(validateHistory(history, dialect))).toBe(true);
      const input = toModelInput(history, { dialect, maxToolCallsFromHistory: max, maxTokens: 2000 });
      expect(validateHistory(input, dialect)).toEqual([]);
    },
  );
});

law(
  "Any stored list can be cut, filtered and explained, and its messages copied",
  RUNS,
  [histories],
  (history) => {
    expect(findSafeCutoff(history, { tokens: 100 })).toBeLessThanOrEqual(history.length);
    expect(filterToolCalls(history, 0).length).toBeLessThanOrEqual(history.length);
    expect(explainInput(history, { maxToolCallsFromHistory: 0 }).stored).toHaveLength(history.length);
    expect(history.map(cloneMessage)).toHaveLength(history.length);
  },
);
