/**
 * A history while it is being changed. The original array is not changed.
 *
 * The original is read into groups from the end, and only as far back as a change needs it. So an append costs one copy
 * of the array and work for the new messages, and many changes together cost one pass over the history and work for each
 * change.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { addToList } from "../../shared/values.js";
import type { Call } from "../call.js";
import { callsAnsweredAfter } from "../group.js";
import { callIdOf, isPlaceholder, isResult } from "../result.js";
import { positionIn, rememberHistory } from "./normalize-history.js";

/** A message that is not a result, its calls, and the result of each call. */
export interface DraftGroup {
  head: BaseMessage;
  calls: readonly Call[];
  /** `results[n]` answers `calls[n]`. */
  results: (ToolMessage | undefined)[];
  /** How many of the results are there. */
  filled: number;
  previous: DraftGroup | undefined;
  next: DraftGroup | undefined;
  /** Whether two calls have the same id. Undefined until that is asked. */
  repeatsIds: boolean | undefined;
  /** Whether a result was taken out while others are there, which can then answer other calls: see `#settle`. */
  isUnsettled: boolean;
  isRemoved: boolean;
}

/** Where a message is. `call` is the index of the call that it answers; undefined for the head of the group. */
export interface Place {
  readonly group: DraftGroup;
  readonly call: number | undefined;
}

/** The place of a call's result in its group. */
export interface Slot {
  readonly group: DraftGroup;
  readonly call: number;
}

/**
 * Which slots a search accepts. `"empty"`: those without a result. `"open"`: also those with a placeholder.
 * `"any"`: all. A call that a summary archived together with its result does not wait for another one.
 */
type Search = "empty" | "open" | "any";

/** The slots of one call id, the nearest last. */
interface Offer {
  /** `before`: how many slots are in groups before that of the slot. */
  readonly slots: { readonly slot: Slot; readonly before: number }[];
  /** How many of the first slots a search has to look at. Those after them are not accepted. */
  readonly left: Record<Search, number>;
}

export class Draft {
  readonly #original: readonly BaseMessage[];
  /** Messages of the original before this index are not read. */
  #unread: number;
  /** The groups of all other messages, as a linked list. */
  #first: DraftGroup | undefined;
  #last: DraftGroup | undefined;
  /** The places of their messages, by id. */
  readonly #places = new Map<string, Place>();
  /** Their slots, by call id. Undefined until one is searched, and when their order is no longer known. */
  #offers: Map<string, Offer> | undefined;

  /** @param messages A known history: see `isKnownHistory`. */
  constructor(messages: readonly BaseMessage[]) {
    this.#original = messages;
    this.#unread = messages.length;
  }

  has(id: string): boolean {
    return this.#places.has(id) || (positionIn(this.#original, id) ?? this.#unread) < this.#unread;
  }

  /** The place of the message with this id; undefined if there is none. */
  find(id: string): Place | undefined {
    this.#readFrom(positionIn(this.#original, id) ?? this.#unread);
    return this.#places.get(id);
  }

  /**
   * The first accepted slot of the last group that has one for a result of this call. Slots of the group `except` are
   * not accepted.
   */
  findSlot(callId: string, search: Search, except: DraftGroup | undefined): Slot | undefined {
    for (;;) {
      this.#offers ??= this.#offerAll();
      const offer = this.#offers.get(callId);
      const slot = offer && nearest(offer, search, except);
      if (slot === undefined && this.#unread > 0) this.#readFrom(this.#unread - 1);
      else if (slot === undefined || !slot.group.isUnsettled) return slot;
      else this.#settle(slot.group);
    }
  }

  /** The first group of the history. */
  first(): DraftGroup | undefined {
    this.#readFrom(0);
    return this.#first;
  }

  /** The last group of the history that is one of these. */
  lastOf(groups: ReadonlySet<DraftGroup>): DraftGroup | undefined {
    if (groups.size < 2) return [...groups][0];
    let group = this.#last;
    while (group !== undefined && !groups.has(group)) group = group.previous;
    return group;
  }

  /** The id of the last message; `""` if there is none. */
  lastId(): string {
    const last = this.#last;
    if (last === undefined) return this.#original[this.#unread - 1]?.id ?? "";
    return (last.results.findLast((result) => result !== undefined) ?? last.head).id ?? "";
  }

  append(head: BaseMessage): void {
    this.insertAfter(this.#last, head);
  }

  /** Inserts a message after a group; before all groups that are read if that is undefined. */
  insertAfter(previous: DraftGroup | undefined, head: BaseMessage): void {
    const group = this.#link(previous, head, callsAnsweredAfter(head));
    this.#fill(group, []);
    if (group.next === undefined) this.#offer(group);
    else if (group.calls.length > 0) this.#offers = undefined;
  }

  /** Removes a group with all of its results. */
  removeGroup(group: DraftGroup): void {
    this.#forget(group);
    group.isRemoved = true;
    const { previous, next } = group;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
  }

  /** Replaces the head of a group, its calls and its results, which are in call order. */
  replaceGroup(
    group: DraftGroup,
    head: BaseMessage,
    calls: readonly Call[],
    results: readonly ToolMessage[],
  ): void {
    this.#forget(group);
    if (!isSameCalls(calls, group.calls)) this.#offers = undefined;
    group.head = head;
    group.calls = calls;
    group.repeatsIds = undefined;
    this.#fill(group, results);
  }

  /** Puts a result into a slot, or takes it out. */
  setResult({ group, call }: Slot, result: ToolMessage | undefined): void {
    const former = group.results[call];
    if (former === result) return;
    if (former !== undefined) this.#places.delete(former.id ?? "");
    group.results[call] = result;
    if (result !== undefined) {
      if (former === undefined) group.filled += 1;
      this.#places.set(result.id ?? "", { group, call });
      return;
    }
    group.filled -= 1;
    group.repeatsIds ??= new Set(group.calls.map(({ id }) => id)).size < group.calls.length;
    group.isUnsettled = group.repeatsIds && group.filled > 0;
    this.#reopen(group.calls[call]?.id ?? "");
  }

  /** The results of a group, each at the index of the call that it answers. */
  resultsOf(group: DraftGroup): readonly (ToolMessage | undefined)[] {
    this.#settle(group);
    return group.results;
  }

  clear(): void {
    this.#unread = 0;
    this.#first = undefined;
    this.#last = undefined;
    this.#places.clear();
    this.#offers = undefined;
  }

  /** The changed history, which is known from now on. The same array if nothing changed. Do not use the draft after this. */
  finish(): BaseMessage[] {
    const original = this.#original as BaseMessage[];
    const changed = this.#write();
    let kept = this.#unread;
    while (kept < original.length && changed[kept - this.#unread] === original[kept]) kept += 1;
    const isAppended = kept === original.length;
    const tail = changed.slice(kept - this.#unread);
    if (isAppended && tail.length === 0) return original;
    // `concat` copies once, at the right size.
    const messages = (isAppended ? original : original.slice(0, kept)).concat(tail);
    rememberHistory(messages, original, kept);
    return messages;
  }

  #write(): BaseMessage[] {
    const messages: BaseMessage[] = [];
    for (let group = this.#first; group !== undefined; group = group.next) {
      messages.push(group.head);
      for (const result of group.results) if (result !== undefined) messages.push(result);
    }
    return messages;
  }

  /** Reads on to a message of the original. Each read offers all slots anew, so it reads as much again as was read before. */
  #readFrom(position: number): void {
    if (position >= this.#unread) return;
    const end = this.#unread;
    let start = Math.max(0, Math.min(position, 2 * end - this.#original.length));
    while (start > 0 && this.#original[start]?.type === "tool") start -= 1;
    this.#unread = start;
    this.#offers = undefined;
    let previous: DraftGroup | undefined;
    let results: ToolMessage[] = [];
    for (const message of this.#original.slice(start, end)) {
      if (isResult(message) && previous !== undefined) {
        results.push(message);
        continue;
      }
      if (previous !== undefined) this.#fill(previous, results);
      previous = this.#link(previous, message, callsAnsweredAfter(message));
      results = [];
    }
    if (previous !== undefined) this.#fill(previous, results);
  }

  /** Adds a group without results. */
  #link(previous: DraftGroup | undefined, head: BaseMessage, calls: readonly Call[]): DraftGroup {
    const next = previous === undefined ? this.#first : previous.next;
    const group: DraftGroup = {
      head,
      calls,
      results: [],
      filled: 0,
      previous,
      next,
      repeatsIds: undefined,
      isUnsettled: false,
      isRemoved: false,
    };
    if (previous === undefined) this.#first = group;
    else previous.next = group;
    if (next === undefined) this.#last = group;
    else next.previous = group;
    return group;
  }

  #forget({ head, results }: DraftGroup): void {
    this.#places.delete(head.id ?? "");
    for (const result of results) if (result !== undefined) this.#places.delete(result.id ?? "");
  }

  /** Only the order of the results is stored: each answers the first call of its id after that of the result before it. */
  #fill(group: DraftGroup, results: readonly ToolMessage[]): void {
    const { head, calls } = group;
    group.results =
      calls.length === 0 ? [] : new Array<ToolMessage | undefined>(calls.length).fill(undefined);
    group.filled = results.length;
    group.isUnsettled = false;
    this.#places.set(head.id ?? "", { group, call: undefined });
    let call = 0;
    for (const result of results) {
      while (call < calls.length && calls[call]?.id !== callIdOf(result)) call += 1;
      group.results[call] = result;
      this.#places.set(result.id ?? "", { group, call });
      call += 1;
    }
  }

  /** After a result was taken out, others can answer calls before theirs, if calls have the same id. */
  #settle(group: DraftGroup): void {
    if (!group.isUnsettled) return;
    this.#fill(
      group,
      group.results.filter((result) => result !== undefined),
    );
    for (const id of new Set(group.calls.map((call) => call.id))) this.#reopen(id);
  }

  #offerAll(): Map<string, Offer> {
    this.#offers = new Map();
    for (let group = this.#first; group !== undefined; group = group.next) this.#offer(group);
    return this.#offers;
  }

  #offer(group: DraftGroup): void {
    if (this.#offers === undefined) return;
    const indexes = new Map<string, number[]>();
    for (const [call, { id }] of group.calls.entries()) addToList(indexes, id, call);
    for (const [id, calls] of indexes) {
      const offer = this.#offers.get(id) ?? { slots: [], left: { empty: 0, open: 0, any: 0 } };
      const before = offer.slots.length;
      for (const call of calls.reverse()) offer.slots.push({ slot: { group, call }, before });
      this.#offers.set(id, offer);
      this.#reopen(id);
    }
  }

  /** A slot of this call id was emptied, or is new. */
  #reopen(id: string): void {
    const offer = this.#offers?.get(id);
    if (offer === undefined) return;
    const { length } = offer.slots;
    Object.assign(offer.left, { empty: length, open: length, any: length });
  }
}

function isSameCalls(one: readonly Call[], other: readonly Call[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ id, kind }, index) => id === other[index]?.id && kind === other[index]?.kind)
  );
}

function nearest({ slots, left }: Offer, search: Search, except: DraftGroup | undefined): Slot | undefined {
  let end = left[search];
  for (let last = slots[end - 1]; last !== undefined; last = slots[end - 1]) {
    const { slot, before } = last;
    if (slot.group === except) {
      end = before;
      continue;
    }
    if (isAccepted(slot, search)) return slot;
    if (end === left[search]) left[search] -= 1;
    end -= 1;
  }
  return undefined;
}

function isAccepted({ group, call }: Slot, search: Search): boolean {
  if (group.isRemoved) return false;
  if (search === "any") return true;
  const result = group.results[call];
  if (result === undefined) return group.calls[call]?.kind !== "answered";
  return search === "open" && isPlaceholder(result);
}
