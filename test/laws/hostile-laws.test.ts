/** The laws of messages with fields of wrong types, and with values that no checkpoint can store. */

import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filterToolCalls, findSafeCutoff } from "../../src/history/cut.js";
import { cloneMessage } from "../../src/history/message.js";
import { issueOfShape } from "../../src/history/message-shape.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { DIALECTS, type DialectName } from "../../src/providers/dialects.js";
import { explainInput } from "../../src/providers/input/explain-input.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/validate-history.js";
import { build, entries } from "../support/arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { hostileLike, hostileMessage } from "../support/foreign-values.js";
import { runs } from "../support/law-runs.js";
import { stateViolations, strictViolations } from "../support/strict-check.js";

expectWarnings(OLD_PACKAGES);

const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];
const RUNS = runs(200);

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
  it("makes a sound state of any values", () => {
    const law = fc.property(written, written, (first, second) => {
      const { messages } = reduceMessages(reduceMessages([], first).messages, second);
      expect(messages.flatMap((message) => issueOfShape(message) ?? [])).toEqual([]);
      expect(stateViolations(messages)).toEqual([]);
      expect(
        reduceMessages([...messages], []).messages.every((message, index) => message === messages[index]),
      ).toBe(true);
    });
    fc.assert(law, RUNS);
  });

  it("makes a sound state of any stored list", () => {
    const law = fc.property(histories, (history) => {
      const { messages } = reduceMessages(history, []);
      expect(messages.flatMap((message) => issueOfShape(message) ?? [])).toEqual([]);
      expect(stateViolations(messages)).toEqual([]);
    });
    fc.assert(law, RUNS);
  });

  it("makes a state that a checkpoint stores and reads back", async () => {
    const { serde } = new MemorySaver();
    const law = fc.asyncProperty(written, async (values) => {
      const { messages } = reduceMessages([], values);
      const [type, bytes] = await serde.dumpsTyped({ channel_values: { messages } });
      const read = await serde.loadsTyped(type, bytes);
      expect(read.channel_values.messages).toHaveLength(messages.length);
    });
    await fc.assert(law, RUNS);
  });

  it("reports each message that it mended", () => {
    const law = fc.property(hostileMessage, (message) => {
      const { messages, repairs } = reduceMessages([], [message]);
      const isSound = issueOfShape(message) === undefined;
      expect(repairs.some(({ kind }) => kind === "message-mended")).toBe(!isSound);
      if (isSound && messages.length > 0) expect(messages[0]?.content).toBe(message.content);
    });
    fc.assert(law, RUNS);
  });
});

describe("Repairing", () => {
  it("gives a list that passes a strict check, and needs no further repair", () => {
    const law = fc.property(fc.oneof(written, histories), (list) => {
      const { messages } = repairHistory(list);
      expect(strictViolations(messages)).toEqual([]);
      expect(repairHistory(messages)).toEqual({ messages, repairs: [] });
    });
    fc.assert(law, RUNS);
  });
});

describe.each(DIALECT_NAMES)("For %s", (dialect) => {
  it("the model input of any stored list is valid", () => {
    const law = fc.property(histories, fc.option(fc.nat({ max: 2 }), { nil: undefined }), (history, max) => {
      const input = toModelInput(history, { dialect, maxToolCallsFromHistory: max, maxTokens: 2000 });
      expect(validateHistory(input, dialect)).toEqual([]);
    });
    fc.assert(law, runs(60));
  });

  it("any stored list can be validated", () => {
    const law = fc.property(histories, (history) => {
      expect(Array.isArray(validateHistory(history, dialect))).toBe(true);
    });
    fc.assert(law, runs(60));
  });
});

it("Any stored list can be cut, filtered and explained, and its messages copied", () => {
  const law = fc.property(histories, (history) => {
    const length = findSafeCutoff(history, { tokens: 100 });
    expect(length).toBeLessThanOrEqual(history.length);
    expect(filterToolCalls(history, 0).length).toBeLessThanOrEqual(history.length);
    expect(explainInput(history, { maxToolCallsFromHistory: 0 }).stored).toHaveLength(history.length);
    expect(history.map(cloneMessage)).toHaveLength(history.length);
  });
  fc.assert(law, RUNS);
});
