/** Recorded conversations of gpt-4o. About a quarter of them repeat a call id for another call. */

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { findSafeCutoff } from "../../src/history/find-safe-cutoff.js";
import { reduceMessages } from "../../src/history/reduce-messages.js";
import { repairHistory } from "../../src/history/repair-history.js";
import { toPlainList } from "../support/plain-messages.js";
import { callIdsOf, stateViolations, strictViolations } from "../support/strict-check.js";

interface Conversation {
  readonly id: string;
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
}

const FILE = fileURLToPath(new URL("../../../shared/data/gpt-4o-airline.jsonl", import.meta.url));
const isThere = existsSync(FILE);

function readConversations(): readonly Conversation[] {
  if (!isThere) return [];
  const lines = readFileSync(FILE, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line): Conversation => JSON.parse(line));
}

const conversations = readConversations();
const histories = conversations.map(({ messages }) => {
  let history: BaseMessage[] = [];
  for (const message of messages) history = reduceMessages(history, [message]).messages;
  return history;
});

const title = isThere ? "Recorded conversations" : `Recorded conversations, skipped: there is no ${FILE}`;

describe.skipIf(!isThere)(title, () => {
  it("are complete in number, and repeat call ids", () => {
    expect(conversations).toHaveLength(100);
    const reusing = histories.filter((history) => {
      const ids = history.flatMap(callIdsOf);
      return new Set(ids).size < ids.length;
    });
    expect(reusing.length).toBeGreaterThan(20);
  });

  it("are replayed message by message without a loss and without a repair", () => {
    for (const [index, { messages }] of conversations.entries()) {
      const history = histories[index] ?? [];
      expect(history.map(({ text }) => text)).toEqual(messages.map(({ content }) => content ?? ""));
      expect(stateViolations(history)).toEqual([]);
      const atOnce = reduceMessages([], messages);
      expect(atOnce.repairs).toEqual([]);
      expect(toPlainList(atOnce.messages)).toEqual(toPlainList(history));
    }
  });

  it("are in order after each message, even if results come as late as possible", () => {
    for (const { messages } of conversations) {
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
    ["behind", (history: readonly BaseMessage[], cut: number) => history.slice(cut)],
    [
      "around",
      (history: readonly BaseMessage[], cut: number) => [...history.slice(0, cut), ...history.slice(cut + 1)],
    ],
  ])("the part %s a cut at any place is repaired, and nothing is lost without a repair", (_title, part) => {
    for (const history of histories) {
      for (let cut = 0; cut <= history.length; cut += 1) expectRepaired(part(history, cut));
    }
  });

  it("a safe cutoff leaves both parts without orphans, and without open calls except the last", () => {
    for (const history of histories) {
      for (let keep = 0; keep <= history.length; keep += 1) {
        const cut = findSafeCutoff(history, { messages: keep });
        const [before, behind] = [history.slice(0, cut), history.slice(cut)];
        expect(stateViolations(behind)).toEqual([]);
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
