import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planRepair, threadOfList } from "../../src/doctor.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { type RepairedHistory, repairHistory } from "../../src/history/reducer/repair-history.js";
import { DIALECTS, type DialectName } from "../../src/providers/dialects.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/validate-history.js";
import { build, buildDistinct, type Entry, entries, messageEntries } from "../support/arbitraries.js";
import { runs } from "../support/law-runs.js";
import { snapshot, toPlainList } from "../support/plain-messages.js";
import { acceptedLists } from "../support/scattered-calls.js";
import { callIdsOf, strictViolations } from "../support/strict-check.js";

const RUNS = runs(600);
const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

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
      const given = list.flatMap((value) => coerceMessage(value) ?? []);
      const { messages, repairs } = repairHistory(given);
      const heads = (values: readonly BaseMessage[]) => values.filter(({ type }) => type !== "tool");
      const before = heads(given);
      const after = heads(messages);
      expect(after).toHaveLength(before.length);
      for (const [index, message] of before.entries())
        expect([message, ...mendsOf(repairs, message)]).toContain(after[index]);
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

describe.each(DIALECT_NAMES)("A list that %s accepts", (dialect) => {
  const REPAIRS = {
    repairHistory: (list: BaseMessage[]) => repairHistory(list).messages,
    "the doctor's repair": (list: BaseMessage[]) => {
      const plan = planRepair(threadOfList(list), { closeOpenCalls: true });
      return plan.kind === "write" ? (plan.after as BaseMessage[]) : list;
    },
    "a repair and toModelInput": (list: BaseMessage[]) =>
      toModelInput(repairHistory(list).messages, { dialect }),
  };
  it.each(Object.entries(REPAIRS))("is accepted after %s too, with its calls and results", (_, repaired) => {
    const law = fc.property(acceptedLists(dialect), (list) => {
      expect(refusalsOf(list, dialect)).toEqual([]);
      const after = repaired(list);
      expect(refusalsOf(after, dialect)).toEqual([]);
      const texts = after.flatMap(({ type, content }) => (type === "tool" ? [content] : []));
      for (const { type, content } of list) if (type === "tool") expect(texts).toContainEqual(content);
      expect(after.flatMap(callIdsOf)).toHaveLength(list.flatMap(callIdsOf).length);
    });
    fc.assert(law, runs(60));
  });
});

const PAIRING = new Set(["missing-result", "orphan-result", "duplicate-result", "empty-calls"]);

const refusalsOf = (list: readonly BaseMessage[], dialect: DialectName) =>
  validateHistory(list, dialect).filter(({ rule }) => PAIRING.has(rule));

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
      const known = given.flatMap((message) => [message, ...mendsOf(repairs, message)]);
      expect(messages.filter((message) => !known.includes(message))).toEqual(closing);
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

/** What a repair has put in the place of a message, so that every client sends its calls. A list can have it twice. */
function mendsOf(repairs: RepairedHistory["repairs"], message: BaseMessage): BaseMessage[] {
  return repairs.flatMap((repair) =>
    repair.kind === "message-mended" && repair.message === message ? [repair.by] : [],
  );
}

function lost(given: readonly BaseMessage[], { messages, repairs }: RepairedHistory): BaseMessage[] {
  const carried = repairs.flatMap((repair) => ("message" in repair ? [repair.message] : []));
  return given.filter((message) => !messages.includes(message) && !carried.some((one) => one === message));
}
