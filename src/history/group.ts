/** Groups messages by call occurrence, in one linear pass. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { madeOnce } from "../shared/values.js";
import { type Call, callsOf, indexesById } from "./call.js";
import { callIdOf, isPlaceholder, isResult } from "./result.js";
import { archiveOf } from "./summary.js";

/**
 * A message that is not a result, its calls (most messages have none), and the result of each call:
 * `results[n]` answers `calls[n]` and is undefined if none is recorded.
 */
export interface Group {
  readonly head: BaseMessage;
  readonly calls: readonly Call[];
  readonly results: readonly (ToolMessage | undefined)[];
  /** Each result's index in the list. A list can hold one result twice, so its object does not say where it is. */
  readonly answeredAt: readonly (number | undefined)[];
  /** The head's index in the list. `end` is one more than the last index of the head and its results. */
  readonly start: number;
  readonly end: number;
}

/** Why a result has no place: no call before it has its id, or each such call already has a result. */
export type Refused = "orphan" | "duplicate";

interface Grouping {
  /** One for each message that is not a result, in list order. */
  readonly groups: readonly Group[];
  /** Results without a call before them. */
  readonly orphans: readonly ToolMessage[];
  /** Surplus results of calls that already have one. The first real result stays; a placeholder gives way to it. */
  readonly duplicates: readonly ToolMessage[];
  /** What the orphans and duplicates are, by index. */
  readonly refusedAt: ReadonlyMap<number, Refused>;
}

const NO_CALLS: readonly Call[] = [];

export type CallsOfHead = (message: BaseMessage) => readonly Call[];

/** The calls that later results can answer: the message's own, or those that it archived as a summary. */
export function callsAnsweredAfter(message: BaseMessage): readonly Call[] {
  if (message.type === "ai") return callsOf(message);
  const archived = archiveOf(message);
  if (archived === undefined) return NO_CALLS;
  const { calls, unanswered = calls } = archived;
  const open = new Set(unanswered);
  return calls.map((id) => ({ id, name: "", kind: open.has(id) ? "valid" : "answered" }));
}

/**
 * Groups any list of messages. A result answers the nearest earlier call with its id that has no result or only a
 * placeholder. Two such calls in one message are filled in call order. If a call has two real results, the first stays.
 *
 * @param callsOfHead Returns the calls that a message opens. Default: its own, or those that it archived as a summary.
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
  let slots: Slots<OpenGroup, keyof typeof FREE> | undefined;

  for (const [index, message] of messages.entries()) {
    if (!isResult(message)) {
      const group = openGroup(message, callsOfHead(message), index);
      groups.push(group);
      slots?.offer(group);
      continue;
    }
    const id = callIdOf(message);
    let slot = slotInOrder(groups.at(-1), id);
    if (slot === undefined) {
      slots ??= new Slots(FREE, groups);
      slot = slots.nearest(id, isPlaceholder(message) ? "empty" : "unanswered");
    }
    if (slot === undefined) {
      const isDuplicate = slots?.has(id) === true;
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

/** If results follow their message in call order, each answers a call after the previous one's. */
function slotInOrder(group: OpenGroup | undefined, id: string): Slot<OpenGroup> | undefined {
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

/** Which slots a placeholder and a real result can fill. */
const FREE = {
  empty: (result) => result === undefined,
  unanswered: (result) => result === undefined || isPlaceholder(result),
} satisfies Record<string, Accept>;

interface OpenGroup extends Group {
  readonly results: (ToolMessage | undefined)[];
  readonly answeredAt: (number | undefined)[];
  end: number;
  /** The index of the call after the one that the last result in call order answered. */
  nextCall: number;
  callsById: Map<string, number[]> | undefined;
}

/** A message as a group, without results. */
export function openGroup(head: BaseMessage, calls = callsAnsweredAfter(head), start = 0): OpenGroup {
  const results = new Array<ToolMessage | undefined>(calls.length).fill(undefined);
  const answeredAt = new Array<number | undefined>(calls.length).fill(undefined);
  return { head, calls, results, answeredAt, start, end: start + 1, nextCall: 0, callsById: undefined };
}

/*
 * Finds the nearest call that a result can answer.
 */

/** The place of a call's result in its group. */
export interface Slot<Owner> {
  readonly group: Owner;
  readonly call: number;
}

type Owner = Pick<Group, "calls" | "results"> & { readonly isRemoved?: boolean };

/** Contract: whether a call's slot that holds this result can be filled. */
export type Accept = (result: ToolMessage | undefined, call: Call | undefined) => boolean;

/** The slots of one call id, nearest last. */
interface Offer<Group> {
  readonly slots: Slot<Group>[];
  /** For each search, the slots that it must still look at. */
  readonly left: Map<string, Slot<Group>[]>;
}

/** Slots by call id. A search skips a slot that it did not accept until the slot is reopened. */
export class Slots<Group extends Owner, Search extends string> {
  readonly #accept: Readonly<Record<Search, Accept>>;
  readonly #offers = new Map<string, Offer<Group>>();

  constructor(accept: Readonly<Record<Search, Accept>>, groups: Iterable<Group>) {
    this.#accept = accept;
    for (const group of groups) this.offer(group);
  }

  /** Adds the slots of a group that is after all others. If several calls share an id, the first is the nearest. */
  offer(group: Group): void {
    if (group.calls.length === 0) return;
    for (const [id, calls] of indexesById(group.calls)) {
      const { slots, left } = madeOnce(this.#offers, id, () => ({ slots: [], left: new Map() }));
      for (const call of calls) {
        const slot = { group, call };
        for (const list of [slots, ...left.values()]) list.push(slot);
      }
    }
  }

  has(id: string): boolean {
    return this.#offers.has(id);
  }

  /** A slot with this call id can be accepted again. */
  reopen(id: string): void {
    this.#offers.get(id)?.left.clear();
  }

  /** The nearest slot with a call id that the search accepts. */
  nearest(id: string, search: Search): Slot<Group> | undefined {
    const offer = this.#offers.get(id);
    if (offer === undefined) return undefined;
    const left = madeOnce(offer.left, search, () => offer.slots.slice());
    for (let slot = left.at(-1); slot !== undefined; slot = left.at(-1)) {
      if (this.#accepts(slot, search)) return slot;
      left.pop();
    }
    return undefined;
  }

  #accepts({ group, call }: Slot<Group>, search: Search): boolean {
    return group.isRemoved !== true && this.#accept[search](group.results[call], group.calls[call]);
  }
}

/** The list that a grouping describes: each message, directly followed by its results in call order. */
export function flattenGroups(groups: Iterable<Pick<Group, "head" | "results">>): BaseMessage[] {
  const messages: BaseMessage[] = [];
  for (const { head, results } of groups) {
    messages.push(head);
    for (const result of results) if (result !== undefined) messages.push(result);
  }
  return messages;
}

/** The same, as indexes in the grouped list. */
export function placesInGroups(groups: readonly Group[]): number[] {
  const places: number[] = [];
  for (const { start, answeredAt } of groups) {
    places.push(start);
    for (const place of answeredAt) if (place !== undefined) places.push(place);
  }
  return places;
}

/** Identifies a call among all calls of its list. {@link createPlaceholder} derives an id from it. */
export function placeOfCall(
  { head, start = "" }: { readonly head: Pick<BaseMessage, "id">; readonly start?: number | "" },
  index: number,
): string {
  return `${head.id || start}:${index}`;
}
