import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { threadOfList } from "../../src/doctor/thread-store.js";
import { planRepair } from "../../src/doctor.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { type RepairedHistory, repairHistory } from "../../src/history/reducer/repair-history.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { build, buildDistinct, type Entry, entries, messageEntries } from "../support/arbitraries.js";
import { snapshot, toPlainList } from "../support/plain-messages.js";
import { acceptedLists } from "../support/scattered-calls.js";
import { callIdsOf, strictViolations } from "../support/strict-check.js";
import { law } from "../support/test-tools.js";

const RUNS = 600;
const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

/** Lists of messages in any order, and lists of anything. */
const lists: fc.Arbitrary<readonly unknown[]> = fc
  .oneof(messageEntries(), entries(), messageEntries().map(withoutIds))
  .map(build);

function withoutIds(list: readonly Entry[]): Entry[] {
  return list.map((entry) => ("id" in entry && "text" in entry ? { ...entry, id: undefined } : entry));
}

const messagesOf = (values: readonly unknown[]) => values.flatMap((value) => coerceMessage(value) ?? []);
/** Messages in any order. */
const given = messageEntries().map(build).map(messagesOf);

describe("A repaired list", () => {
  law(
    "passes a strict check, needs no further repair, and its messages are not changed",
    RUNS,
    [lists],
    (list) => {
      const before = snapshot(list);
      const { messages } = repairHistory(list);
      expect(snapshot(list)).toEqual(before);
      expect(strictViolations(messages)).toEqual([]);
      const again = repairHistory(messages);
      expect(again.messages).toBe(messages);
      expect(again.repairs).toEqual([]);
    },
  );

  law("is the same whenever the same list is repaired", RUNS, [messageEntries()], (list) => {
    const [first, second] = [repairHistory(build(list)), repairHistory(build(list))];
    expect(toPlainList(second.messages)).toEqual(toPlainList(first.messages));
    expect(second.repairs.map(({ key }) => key)).toEqual(first.repairs.map(({ key }) => key));
  });

  law("keeps the order of all messages that are not results", RUNS, [given], (list) => {
    const { messages, repairs } = repairHistory(list);
    const heads = (values: readonly BaseMessage[]) => values.filter(({ type }) => type !== "tool");
    const [before, after] = [heads(list), heads(messages)];
    expect(after).toHaveLength(before.length);
    for (const [index, message] of before.entries())
      expect([message, ...repairsOf(repairs, message)]).toContain(after[index]);
  });

  law(
    "is the same array, without repairs, only if it passed a strict check before",
    RUNS,
    [given],
    (list) => {
      const { messages, repairs } = repairHistory(list);
      expect(repairs.length > 0).toBe(messages !== list);
      expect(messages === list).toBe(strictViolations(list).length === 0);
    },
  );
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
  for (const [name, repaired] of Object.entries(REPAIRS))
    law(`is accepted after ${name} too, with its calls and results`, 60, [acceptedLists(dialect)], (list) => {
      expect(refusalsOf(list, dialect)).toEqual([]);
      const after = repaired(list);
      expect(refusalsOf(after, dialect)).toEqual([]);
      const texts = after.flatMap(({ type, content }) => (type === "tool" ? [content] : []));
      for (const { type, content } of list) if (type === "tool") expect(texts).toContainEqual(content);
      expect(after.flatMap(callIdsOf)).toHaveLength(list.flatMap(callIdsOf).length);
    });
});

const PAIRING = new Set(["missing-result", "orphan-result", "duplicate-result", "empty-calls"]);

const refusalsOf = (list: readonly BaseMessage[], dialect: DialectName) =>
  validateHistory(list, dialect).filter(({ rule }) => PAIRING.has(rule));

describe("Nothing is lost", () => {
  const distinct = messageEntries().map(buildDistinct).map(messagesOf);
  law("each message is in the repaired list or in a repair", RUNS, [distinct], (list) => {
    expect(lost(list, repairHistory(list))).toEqual([]);
  });

  law("each added message is in a repair and answers a call", RUNS, [given], (list) => {
    const { messages, repairs } = repairHistory(list);
    const known = list.flatMap((message) => [message, ...repairsOf(repairs, message)]);
    expect(messages.filter((message) => !known.includes(message))).toEqual(addedBy(repairs));
  });

  law("each added message has a unique id, which is saved with it", RUNS, [lists], (list) => {
    const { messages, repairs } = repairHistory(list);
    const added = addedBy(repairs);
    const heads = messages.flatMap(({ type, id }) => (type === "ai" && id ? [id] : []));
    const areTold = new Set(heads).size === heads.length;
    if (areTold) expect(new Set(added.map(({ id }) => id)).size).toBe(added.length);
    for (const message of added) expect(message.lc_kwargs["id"]).toBe(message.id);
  });

  law("a result is an orphan only if no call before it has its id", RUNS, [given], (list) => {
    for (const repair of repairHistory(list).repairs) {
      if (repair.kind !== "orphan-refused") continue;
      const before = list.slice(0, list.indexOf(repair.message));
      expect(before.flatMap(callIdsOf)).not.toContain(repair.message.tool_call_id);
    }
  });
});

const addedBy = (repairs: RepairedHistory["repairs"]) =>
  repairs.flatMap((repair) => (repair.kind === "call-closed" ? [repair.message] : []));

/** What a repair has put in the place of a message, so that every client sends its calls. A list can have it twice. */
function repairsOf(repairs: RepairedHistory["repairs"], message: BaseMessage): BaseMessage[] {
  return repairs.flatMap((repair) =>
    repair.kind === "message-repaired" && repair.message === message ? [repair.by] : [],
  );
}

function lost(given: readonly BaseMessage[], { messages, repairs }: RepairedHistory): BaseMessage[] {
  const carried = repairs.flatMap((repair) => ("message" in repair ? [repair.message] : []));
  return given.filter((message) => !messages.includes(message) && !carried.some((one) => one === message));
}
