/** Groups messages by occurrence of their calls, in one linear pass. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "../messages/call.js";
import { callIdOf, isPlaceholder, isResult } from "../messages/result.js";
import { coverageOf } from "../messages/summary.js";

/**
 * A message that is not a result, its calls (most messages have none), and the result of each call:
 * `results[n]` answers `calls[n]` and is undefined if none is recorded.
 */
export interface Group {
  readonly head: BaseMessage;
  readonly calls: readonly Call[];
  readonly results: readonly (ToolMessage | undefined)[];
  /** The index of the head in the list. `end` is one more than the last index of the head and its results. */
  readonly start: number;
  readonly end: number;
}

export interface Grouping {
  /** One for each message that is not a result, in list order. */
  readonly groups: readonly Group[];
  /** Results without a call before them. */
  readonly orphans: readonly ToolMessage[];
  /**
   * Surplus results of calls that have one already. The first real result is kept; a placeholder gives way to
   * it.
   */
  readonly duplicates: readonly ToolMessage[];
}

const NO_CALLS: readonly Call[] = [];

/** Returns the calls that a message opens, in call order. */
export type CallsOfHead = (message: BaseMessage) => readonly Call[];

/** The calls that later results can answer: the message's own, or those that it archived as a summary. */
export function callsAnsweredAfter(message: BaseMessage): readonly Call[] {
  if (message.type === "ai") return callsOf(message);
  const coverage = coverageOf(message);
  if (coverage?.kind !== "archive") return NO_CALLS;
  const { calls, unanswered } = coverage;
  const isOpen = (id: string) => unanswered === undefined || unanswered.includes(id);
  return calls.map((id) => ({ id, name: "", kind: isOpen(id) ? "valid" : "answered" }));
}

/**
 * Groups any list of messages. A result answers the nearest earlier message that has a call of its id without
 * a result or with only a placeholder. If one message has two calls of that id, they are filled in call
 * order. If a call has two real results, the first one stays.
 *
 * @param callsOfHead Returns the calls that a message opens. Default: its own, or those that it archived as a
 * summary.
 */
export function groupMessages(
  messages: readonly BaseMessage[],
  callsOfHead: CallsOfHead = callsAnsweredAfter,
): Grouping {
  const groups: OpenGroup[] = [];
  const orphans: ToolMessage[] = [];
  const duplicates: ToolMessage[] = [];
  /** For each call id, the slots opened so far, the nearest last. */
  const slotsById = new Map<string, Slot[]>();
  /** If results follow their message in call order, each answers a call after the previous one. */
  let nextCall = 0;

  for (const [index, message] of messages.entries()) {
    if (!isResult(message)) {
      const group = openGroup(message, callsOfHead(message), index);
      groups.push(group);
      offerSlots(group, slotsById);
      nextCall = 0;
      continue;
    }
    const slots = slotsById.get(callIdOf(message));
    if (slots === undefined) {
      orphans.push(message);
      continue;
    }
    const inOrder = slotInOrder(groups.at(-1), callIdOf(message), nextCall);
    const slot = inOrder ?? nearestSlot(slots, message);
    if (slot === undefined) {
      duplicates.push(message);
      continue;
    }
    if (inOrder !== undefined) nextCall = inOrder.call + 1;
    const { group, call } = slot;
    const placeholder = group.results[call];
    if (placeholder !== undefined) duplicates.push(placeholder);
    group.results[call] = message;
    group.end = index + 1;
  }
  return { groups, orphans, duplicates };
}

function slotInOrder(group: OpenGroup | undefined, id: string, nextCall: number): Slot | undefined {
  if (group === undefined) return undefined;
  for (let call = nextCall; call < group.calls.length; call += 1) {
    if (group.calls[call]?.id === id && group.results[call] === undefined) return { group, call };
  }
  return undefined;
}

/** The nearest slot that the result can fill. Removes slots that already hold a real result. */
function nearestSlot(slots: Slot[], message: ToolMessage): Slot | undefined {
  const occupant = ({ group, call }: Slot) => group.results[call];
  const isFilled = (slot: Slot) => {
    const result = occupant(slot);
    return result !== undefined && !isPlaceholder(result);
  };
  while (slots.length > 0 && slots.slice(-1).every(isFilled)) slots.pop();
  return slots.findLast((slot) => (isPlaceholder(message) ? occupant(slot) === undefined : !isFilled(slot)));
}

interface OpenGroup extends Group {
  readonly results: (ToolMessage | undefined)[];
  end: number;
}

interface Slot {
  readonly group: OpenGroup;
  readonly call: number;
}

function openGroup(head: BaseMessage, calls: readonly Call[], start: number): OpenGroup {
  const results = new Array<ToolMessage | undefined>(calls.length).fill(undefined);
  return { head, calls, results, start, end: start + 1 };
}

/** In reverse, so that the first of two calls with one id is the nearest. */
function offerSlots(group: OpenGroup, slotsById: Map<string, Slot[]>): void {
  for (let call = group.calls.length - 1; call >= 0; call -= 1) {
    const id = group.calls[call]?.id ?? "";
    const slots = slotsById.get(id);
    if (slots === undefined) slotsById.set(id, [{ group, call }]);
    else slots.push({ group, call });
  }
}

/** The list that a grouping describes: each message, directly followed by its results in call order. */
export function flattenGroups(groups: readonly Group[]): BaseMessage[] {
  const messages: BaseMessage[] = [];
  for (const { head, results } of groups) {
    messages.push(head);
    for (const result of results) if (result !== undefined) messages.push(result);
  }
  return messages;
}

/** Identifies a call of a group among all calls of its list. {@link createPlaceholder} derives an id from it. */
export function placeOfCall({ head, start }: Group, index: number): string {
  return `${head.id || start}:${index}`;
}
