/** Compares the safe cutoff with a check that tries each place. */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { findSafeCutoff } from "../../src/history/cut.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { countTokens } from "../../src/history/size.js";
import { build, messageEntries } from "../support/arbitraries.js";
import { answeredIdOf, callIdsOf } from "../support/strict-check.js";
import { law } from "../support/test-tools.js";

const RUNS = 700;

/** Any list without summaries, because summaries open the calls that they archived. */
const lists = messageEntries(14).map((list) =>
  build(list.filter(({ kind }) => kind !== "summary")).flatMap((value) => coerceMessage(value) ?? []),
);

/** For each result, the index of the message with its call; for each message, its calls without a result. */
function readSlowly(messages: readonly BaseMessage[]) {
  const slots: { readonly head: number; readonly id: string; by: BaseMessage | undefined }[] = [];
  const pairs: { readonly head: number; readonly result: number }[] = [];
  /** The first slot that a result in call order can fill. */
  let inOrder = 0;
  for (const [index, message] of messages.entries()) {
    const id = answeredIdOf(message);
    if (id === undefined) {
      inOrder = slots.length;
      slots.push(...callIdsOf(message).map((call) => ({ head: index, id: call, by: undefined })));
      continue;
    }
    const isOurs = isPlaceholder(message);
    const free = slots
      .filter((slot) => slot.id === id)
      .filter(({ by }) => by === undefined || (isPlaceholder(by) && !isOurs));
    const nearest = Math.max(...free.map(({ head }) => head));
    const next = slots.findIndex(
      (slot, place) => place >= inOrder && slot.id === id && slot.by === undefined,
    );
    const slot = slots[next] ?? free.find(({ head }) => head === nearest);
    if (slot === undefined) continue;
    if (next >= 0) inOrder = next + 1;
    slot.by = message;
    pairs.push({ head: slot.head, result: index });
  }
  const last = messages.findLastIndex((message) => message.type !== "tool");
  const isOpen = slots.some(({ head, by }) => head === last && by === undefined);
  return { pairs, openFrom: isOpen ? last : undefined };
}

function isPlaceholder(message: BaseMessage): boolean {
  return message.additional_kwargs["tether_placeholder"] !== undefined;
}

function isSafe(messages: readonly BaseMessage[], cut: number): boolean {
  const { pairs, openFrom } = readSlowly(messages);
  const isSplit = pairs.some(({ head, result }) => head < cut && result >= cut);
  return !isSplit && !(openFrom !== undefined && openFrom < cut);
}

/** The contract: back to the nearest safe place with something to summarise before it, or else forward, or else 0. */
function cutSlowly(messages: readonly BaseMessage[], requested: number): number {
  const hasContent = (cut: number) => messages.slice(0, cut).some(({ type }) => type !== "system");
  const candidates = messages.map((_, index) => index).concat(messages.length);
  const useful = candidates.filter((cut) => cut > 0 && isSafe(messages, cut) && hasContent(cut));
  if (requested === 0) return 0;
  const back = useful.findLast((cut) => cut <= requested);
  return back ?? useful.find((cut) => cut > requested && cut < messages.length) ?? 0;
}

describe("A cutoff by messages", () => {
  law("never separates a result from its call", RUNS, [lists, fc.nat({ max: 16 })], (messages, keep) => {
    expect(isSafe(messages, findSafeCutoff(messages, { messages: keep }))).toBe(true);
  });

  law(
    "is the nearest safe place before the requested one, else the first after it, else 0",
    RUNS,
    [lists, fc.nat({ max: 16 })],
    (messages, keep) => {
      const requested = Math.max(0, messages.length - keep);
      expect(findSafeCutoff(messages, { messages: keep })).toBe(cutSlowly(messages, requested));
    },
  );
});

describe("A cutoff by tokens", () => {
  law(
    "is requested where the kept messages just fit into the budget",
    RUNS,
    [lists, fc.nat({ max: 200 })],
    (messages, tokens) => {
      const cost = (from: number) => messages.slice(from).reduce((sum, one) => sum + countTokens(one), 0);
      const fitting = messages.map((_, index) => index).concat(messages.length);
      const requested = fitting.find((cut) => cost(cut) <= tokens) ?? 0;
      expect(findSafeCutoff(messages, { tokens })).toBe(cutSlowly(messages, requested));
    },
  );
});
