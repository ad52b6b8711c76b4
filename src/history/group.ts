/** Groups messages by occurrence of their calls, in one linear pass. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { addToList } from "../shared/values.js";
import { type Call, callsOf, indexesById } from "./call.js";
import { callIdOf, isPlaceholder, isResult } from "./result.js";
import { coverageOf } from "./summary.js";

/**
 * A message that is not a result, its calls (most messages have none), and the result of each call:
 * `results[n]` answers `calls[n]` and is undefined if none is recorded.
 */
export interface Group {
  readonly head: BaseMessage;
  readonly calls: readonly Call[];
  readonly results: readonly (ToolMessage | undefined)[];
  /** The index of each result in the list. A list can hold one result twice, so its object does not say where it is. */
  readonly answeredAt: readonly (number | undefined)[];
  /** The index of the head in the list. `end` is one more than the last index of the head and its results. */
  readonly start: number;
  readonly end: number;
}

/** Why a result has no place: no call before it has its id, or each such call has a result already. */
export type Refused = "orphan" | "duplicate";

interface Grouping {
  /** One for each message that is not a result, in list order. */
  readonly groups: readonly Group[];
  /** Results without a call before them. */
  readonly orphans: readonly ToolMessage[];
  /**
   * Surplus results of calls that have one already. The first real result is kept; a placeholder gives way to
   * it.
   */
  readonly duplicates: readonly ToolMessage[];
  /** What the orphans and duplicates are, by index. */
  readonly refusedAt: ReadonlyMap<number, Refused>;
}

const NO_CALLS: readonly Call[] = [];

/** Returns the calls that a message opens, in call order. */
export type CallsOfHead = (message: BaseMessage) => readonly Call[];

/** The calls that later results can answer: the message's own, or those that it archived as a summary. */
export function callsAnsweredAfter(message: BaseMessage): readonly Call[] {
  if (message.type === "ai") return callsOf(message);
  const coverage = coverageOf(message);
  if (coverage?.kind !== "archive") return NO_CALLS;
  const { calls, unanswered = calls } = coverage;
  const open = new Set(unanswered);
  return calls.map((id) => ({ id, name: "", kind: open.has(id) ? "valid" : "answered" }));
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
  const refusedAt = new Map<number, Refused>();
  // Made for the first result that does not follow its message. Most lists have none.
  let offers: Offers | undefined;

  for (const [index, message] of messages.entries()) {
    if (!isResult(message)) {
      const group = openGroup(message, callsOfHead(message), index);
      groups.push(group);
      if (offers !== undefined) offerSlots(group, offers);
      continue;
    }
    const id = callIdOf(message);
    let slot = slotInOrder(groups.at(-1), id);
    if (slot === undefined) {
      offers ??= offersOf(groups);
      slot = nearestSlot(offers, message);
    }
    if (slot === undefined) {
      const isDuplicate = offers?.open.has(id) === true;
      (isDuplicate ? duplicates : orphans).push(message);
      refusedAt.set(index, isDuplicate ? "duplicate" : "orphan");
      continue;
    }
    const { group, call } = slot;
    const placeholder = group.results[call];
    if (placeholder !== undefined) {
      duplicates.push(placeholder);
      refusedAt.set(group.answeredAt[call] ?? index, "duplicate");
    }
    group.results[call] = message;
    group.answeredAt[call] = index;
    group.end = index + 1;
  }
  return { groups, orphans, duplicates, refusedAt };
}

/** If results follow their message in call order, each answers a call after the previous one. */
function slotInOrder(group: OpenGroup | undefined, id: string): Slot | undefined {
  if (group === undefined) return undefined;
  let call: number | undefined = group.nextCall;
  if (group.calls[call]?.id !== id || group.results[call] !== undefined) {
    group.callsById ??= indexesById(group.calls);
    const sameId = group.callsById.get(id) ?? [];
    for (call = sameId.at(-1); call !== undefined; call = sameId.at(-1)) {
      if (call >= group.nextCall && group.results[call] === undefined) break;
      sameId.pop();
    }
  }
  if (call === undefined) return undefined;
  group.nextCall = call + 1;
  return { group, call };
}

/** The nearest slot that the result can fill. A slot that it cannot fill is never offered to such a result again. */
function nearestSlot(offers: Offers, message: ToolMessage): Slot | undefined {
  const isFilled = ({ group, call }: Slot): boolean => {
    const result = group.results[call];
    return result !== undefined && (isPlaceholder(message) || !isPlaceholder(result));
  };
  const slots = (isPlaceholder(message) ? offers.empty : offers.open).get(callIdOf(message)) ?? [];
  for (let slot = slots.at(-1); slot !== undefined; slot = slots.at(-1)) {
    if (!isFilled(slot)) return slot;
    slots.pop();
  }
  return undefined;
}

interface OpenGroup extends Group {
  readonly results: (ToolMessage | undefined)[];
  readonly answeredAt: (number | undefined)[];
  end: number;
  /** The index of the call after the one that the last result in call order answered. */
  nextCall: number;
  callsById: Map<string, number[]> | undefined;
}

interface Slot {
  readonly group: OpenGroup;
  readonly call: number;
}

/** The slots of each call id, the nearest last: for placeholders, and for real results. */
interface Offers {
  readonly empty: Map<string, Slot[]>;
  readonly open: Map<string, Slot[]>;
}

function openGroup(head: BaseMessage, calls: readonly Call[], start: number): OpenGroup {
  const results = new Array<ToolMessage | undefined>(calls.length).fill(undefined);
  const answeredAt = new Array<number | undefined>(calls.length).fill(undefined);
  return { head, calls, results, answeredAt, start, end: start + 1, nextCall: 0, callsById: undefined };
}

function offersOf(groups: readonly OpenGroup[]): Offers {
  const offers: Offers = { empty: new Map(), open: new Map() };
  for (const group of groups) offerSlots(group, offers);
  return offers;
}

/** In reverse, so that the first of two calls with one id is the nearest. */
function offerSlots(group: OpenGroup, { empty, open }: Offers): void {
  for (let call = group.calls.length - 1; call >= 0; call -= 1) {
    const id = group.calls[call]?.id ?? "";
    addToList(empty, id, { group, call });
    addToList(open, id, { group, call });
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

/** The same, as indexes in the list that was grouped. */
export function placesInGroups(groups: readonly Group[]): number[] {
  return groups.flatMap(({ start, answeredAt }) => [
    start,
    ...answeredAt.filter((place) => place !== undefined),
  ]);
}

/** Identifies a call of a group among all calls of its list. {@link createPlaceholder} derives an id from it. */
export function placeOfCall({ head, start }: Pick<Group, "head" | "start">, index: number): string {
  return `${head.id || start}:${index}`;
}
