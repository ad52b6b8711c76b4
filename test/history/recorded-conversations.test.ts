/** Conversations with the shapes of recorded ones of gpt-4o. About a quarter repeat a call id for another call. */

import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { findSafeCutoff } from "../../src/history/cut.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { toPlainList } from "../support/plain-messages.js";
import { recordedConversations } from "../support/recorded-conversations.js";
import { callIdsOf, stateViolations, strictViolations } from "../support/strict-check.js";

const histories = recordedConversations.map((messages) => {
  let history: BaseMessage[] = [];
  for (const message of messages) history = reduceMessages(history, [message]).messages;
  return history;
});

describe("Recorded conversations", () => {
  it("are complete in number, and repeat call ids", () => {
    expect(recordedConversations).toHaveLength(100);
    const reusing = histories.filter((history) => {
      const ids = history.flatMap(callIdsOf);
      return new Set(ids).size < ids.length;
    });
    expect(reusing.length).toBeGreaterThan(20);
  });

  it("are replayed message by message without a loss and without a repair", () => {
    for (const [index, messages] of recordedConversations.entries()) {
      const history = histories[index] ?? [];
      expect(history.map(({ text }) => text)).toEqual(messages.map(({ content }) => content ?? ""));
      expect(stateViolations(history)).toEqual([]);
      const atOnce = reduceMessages([], messages);
      expect(atOnce.repairs).toEqual([]);
      expect(toPlainList(atOnce.messages)).toEqual(toPlainList(history));
    }
  });

  it("are in order after each message, even if every result comes after all other messages", () => {
    for (const messages of recordedConversations) {
      const late = messages.toSorted(
        (one, other) => Number(one.role === "tool") - Number(other.role === "tool"),
      );
      let history: BaseMessage[] = [];
      for (const message of late) {
        history = reduceMessages(history, [message]).messages;
        expect(stateViolations(history)).toEqual([]);
      }
      expect(history).toHaveLength(messages.length);
    }
  });

  it("need no repair if they are complete", () => {
    for (const history of histories) {
      const whole = history.slice(0, findSafeCutoff(history, { messages: 0 }));
      expect(repairHistory(whole)).toEqual({ messages: whole, repairs: [] });
    }
  });

  it.each([
    ["before", (history: readonly BaseMessage[], cut: number) => history.slice(0, cut)],
    ["after", (history: readonly BaseMessage[], cut: number) => history.slice(cut)],
    [
      "around",
      (history: readonly BaseMessage[], cut: number) => [...history.slice(0, cut), ...history.slice(cut + 1)],
    ],
  ])(
    "the part %s a cut at any place is repaired, and every message lost is reported in a repair",
    (_title, part) => {
      for (const history of histories) {
        for (let cut = 0; cut <= history.length; cut += 1) expectRepaired(part(history, cut));
      }
    },
  );

  it("a safe cutoff leaves no orphan result in either part, and open calls only at the end", () => {
    for (const history of histories) {
      for (let keep = 0; keep <= history.length; keep += 1) {
        const cut = findSafeCutoff(history, { messages: keep });
        const [before, after] = [history.slice(0, cut), history.slice(cut)];
        expect(stateViolations(after)).toEqual([]);
        expect(strictViolations(before)).toEqual([]);
      }
    }
  });
});

function expectRepaired(messages: readonly BaseMessage[]): void {
  const repaired = repairHistory(messages);
  expect(strictViolations(repaired.messages)).toEqual([]);
  const carried = new Set<BaseMessage>(
    repaired.repairs.flatMap((repair) => ("message" in repair ? [repair.message] : [])),
  );
  const kept = new Set(repaired.messages);
  expect(messages.filter((message) => !kept.has(message) && !carried.has(message))).toEqual([]);
  // The reducer can get the repaired list as a state.
  expect(reduceMessages(repaired.messages, []).messages).toBe(repaired.messages);
}
