/** The laws of repairing any list of messages. */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { coerceMessage } from "../../src/history/reading/coerce-message.js";
import { type RepairedHistory, repairHistory } from "../../src/history/reducer/repair-history.js";
import { build, buildDistinct, type Entry, entries, messageEntries } from "../support/arbitraries.js";
import { runs } from "../support/law-runs.js";
import { snapshot, toPlainList } from "../support/plain-messages.js";
import { callIdsOf, strictViolations } from "../support/strict-check.js";

const RUNS = runs(600);

/** Lists of messages in any order, and lists of anything. */
const lists: fc.Arbitrary<readonly unknown[]> = fc
  .oneof(messageEntries(), entries(), messageEntries().map(withoutIds))
  .map(build);

function withoutIds(list: readonly Entry[]): Entry[] {
  return list.map((entry) => ("id" in entry && "text" in entry ? { ...entry, id: undefined } : entry));
}

describe("A repaired list", () => {
  it("passes a strict check", () => {
    const law = fc.property(lists, (list) => {
      expect(strictViolations(repairHistory(list).messages)).toEqual([]);
    });
    fc.assert(law, RUNS);
  });

  it("needs no further repair: the same array is returned", () => {
    const law = fc.property(lists, (list) => {
      const { messages } = repairHistory(list);
      const again = repairHistory(messages);
      expect(again.messages).toBe(messages);
      expect(again.repairs).toEqual([]);
    });
    fc.assert(law, RUNS);
  });

  it("is the same whenever the same list is repaired", () => {
    const law = fc.property(messageEntries(), (list) => {
      const [first, second] = [repairHistory(build(list)), repairHistory(build(list))];
      expect(toPlainList(second.messages)).toEqual(toPlainList(first.messages));
      expect(second.repairs.map(({ key }) => key)).toEqual(first.repairs.map(({ key }) => key));
    });
    fc.assert(law, RUNS);
  });

  it("keeps the order of all messages that are not results", () => {
    const law = fc.property(messageEntries().map(build), (list) => {
      const heads = (values: readonly unknown[]) =>
        values.flatMap((value) => coerceMessage(value) ?? []).filter(({ type }) => type !== "tool");
      expect(toPlainList(heads(repairHistory(list).messages))).toEqual(toPlainList(heads(list)));
    });
    fc.assert(law, RUNS);
  });
});

describe("A list that passes a strict check", () => {
  it("is returned as the same array, without repairs", () => {
    const law = fc.property(messageEntries().map(build), (list) => {
      const messages = list.flatMap((value) => coerceMessage(value) ?? []);
      fc.pre(strictViolations(messages).length === 0);
      const repaired = repairHistory(messages);
      expect(repaired.messages).toBe(messages);
      expect(repaired.repairs).toEqual([]);
    });
    fc.assert(law, runs(100));
  });

  it("is the only kind of list without repairs: each change of a list is reported", () => {
    const law = fc.property(messageEntries().map(build), (list) => {
      const given = list.flatMap((value) => coerceMessage(value) ?? []);
      const { messages, repairs } = repairHistory(given);
      expect(repairs.length > 0).toBe(messages !== given);
      expect(messages === given).toBe(strictViolations(given).length === 0);
    });
    fc.assert(law, RUNS);
  });
});

describe("Nothing is lost or changed", () => {
  it("the messages of the list are not changed", () => {
    const law = fc.property(lists, (list) => {
      const before = snapshot(list);
      repairHistory(list);
      expect(snapshot(list)).toEqual(before);
    });
    fc.assert(law, RUNS);
  });

  it("each message is in the repaired list or in a repair", () => {
    const law = fc.property(messageEntries().map(buildDistinct), (list) => {
      const messages = list.flatMap((value) => coerceMessage(value) ?? []);
      expect(lost(messages, repairHistory(messages))).toEqual([]);
    });
    fc.assert(law, RUNS);
  });

  it("each added message is in a repair and answers a call", () => {
    const law = fc.property(messageEntries().map(build), (list) => {
      const given = list.flatMap((value) => coerceMessage(value) ?? []);
      const { messages, repairs } = repairHistory(given);
      const closing = repairs.flatMap((repair) => (repair.kind === "call-closed" ? [repair.message] : []));
      expect(messages.filter((message) => !given.includes(message))).toEqual(closing);
    });
    fc.assert(law, RUNS);
  });

  it("each added message has a unique id, which is saved with it", () => {
    const law = fc.property(lists, (list) => {
      const { messages, repairs } = repairHistory(list);
      const added = repairs.flatMap((repair) => (repair.kind === "call-closed" ? [repair.message] : []));
      const heads = messages.flatMap(({ type, id }) => (type === "ai" && id ? [id] : []));
      const areTold = new Set(heads).size === heads.length;
      if (areTold) expect(new Set(added.map(({ id }) => id)).size).toBe(added.length);
      for (const message of added) expect(message.lc_kwargs["id"]).toBe(message.id);
    });
    fc.assert(law, RUNS);
  });

  it("a result is an orphan only if no call before it has its id", () => {
    const law = fc.property(messageEntries().map(build), (list) => {
      const given = list.flatMap((value) => coerceMessage(value) ?? []);
      for (const repair of repairHistory(given).repairs) {
        if (repair.kind !== "orphan-refused") continue;
        const before = given.slice(0, given.indexOf(repair.message));
        expect(before.flatMap(callIdsOf)).not.toContain(repair.message.tool_call_id);
      }
    });
    fc.assert(law, RUNS);
  });
});

function lost(given: readonly BaseMessage[], { messages, repairs }: RepairedHistory): BaseMessage[] {
  const carried = repairs.flatMap((repair) => ("message" in repair ? [repair.message] : []));
  return given.filter((message) => !messages.includes(message) && !carried.some((one) => one === message));
}
