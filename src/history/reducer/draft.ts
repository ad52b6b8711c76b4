/**
 * A history while it is being changed. The original array is not changed. `finish` returns the original array
 * if nothing changed, and a new one otherwise.
 *
 * The draft reads the groups of the original array from the end, and only as far back as a change needs them.
 * So an append costs one copy of the array and work for the new messages, and many changes together cost one
 * pass over the history and work for each change.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { callsAnsweredAfter } from "../calls/group.js";
import type { Call } from "../messages/call.js";
import { callIdOf, isResult } from "../messages/result.js";
import { CallSlots, type Search, type Slot } from "./call-slots.js";
import { type DraftGroup, GroupList } from "./group-list.js";
import { positionIn, rememberChange } from "./known-history.js";

/** Where a message is. `call` is the index of the call that it answers; undefined for the head of the group. */
export interface Place {
  readonly group: DraftGroup;
  readonly call: number | undefined;
}

export class Draft {
  readonly #original: readonly BaseMessage[];
  /** Messages before this index are not read yet. */
  #unread: number;
  #groups = new GroupList();
  #slots = new CallSlots();
  /** The places of all messages that are read, by id. */
  readonly #places = new Map<string, Place>();
  /** Groups whose results can answer other calls than noted, with their first and last emptied slot. */
  readonly #unsettled = new Map<DraftGroup, readonly [first: number, last: number]>();

  /** @param messages A known history: see `isKnownHistory`. */
  constructor(messages: readonly BaseMessage[]) {
    this.#original = messages;
    this.#unread = messages.length;
  }

  has(id: string): boolean {
    const position = positionIn(this.#original, id);
    return this.#places.has(id) || (position !== undefined && position < this.#unread);
  }

  /** The place of the message with this id; undefined if there is none. */
  find(id: string): Place | undefined {
    const position = positionIn(this.#original, id) ?? this.#unread;
    while (this.#unread > position) this.#readGroup();
    return this.#places.get(id);
  }

  /** The place of a slot for a result of this call: see {@link CallSlots.find}. */
  findSlot(callId: string, search: Search, except: DraftGroup | undefined): Slot | undefined {
    for (;;) {
      const slot = this.#slots.find(callId, search, except);
      if (slot === undefined && this.#unread > 0) this.#readGroup();
      else if (slot === undefined || !this.#unsettled.has(slot.group)) return slot;
      else this.#settle(slot.group);
    }
  }

  /** The first group of the history. */
  first(): DraftGroup | undefined {
    while (this.#unread > 0) this.#readGroup();
    return this.#groups.first;
  }

  /** The id of the last message; `""` if there is none. */
  lastId(): string {
    const { last } = this.#groups;
    if (last === undefined) return this.#original[this.#unread - 1]?.id ?? "";
    return (last.results.findLast((result) => result !== undefined) ?? last.head).id ?? "";
  }

  append(head: BaseMessage): void {
    this.insertAfter(this.#groups.last, head);
  }

  /** Inserts a message after a group; before all groups that are read if that is undefined. */
  insertAfter(group: DraftGroup | undefined, head: BaseMessage): void {
    this.#fill(this.#groups.insertAfter(group, head, callsAnsweredAfter(head)), []);
  }

  /** Removes a group with all of its results. */
  removeGroup(group: DraftGroup): void {
    this.#forget(group);
    this.#slots.withdraw(group);
    this.#unsettled.delete(group);
    this.#groups.remove(group);
  }

  /** Replaces the head of a group, its calls and its results, which are in call order. */
  replaceGroup(group: DraftGroup, head: BaseMessage, calls: readonly Call[], results: ToolMessage[]): void {
    this.#forget(group);
    group.head = head;
    group.calls = calls;
    this.#fill(group, results);
  }

  /** Puts a result into a slot, or takes it out. */
  setResult({ group, call }: Slot, result: ToolMessage | undefined): void {
    const former = group.results[call];
    if (former === result) return;
    if (former !== undefined) this.#places.delete(former.id ?? "");
    group.results[call] = result;
    if (result !== undefined) {
      this.#places.set(result.id ?? "", { group, call });
      return;
    }
    this.#slots.reopen({ group, call });
    if (this.#slots.hasDistinctIds(group)) return;
    const [first, last] = this.#unsettled.get(group) ?? [call, call];
    this.#unsettled.set(group, [Math.min(first, call), Math.max(last, call)]);
  }

  /** The results of a group, each at the index of the call that it answers. */
  resultsOf(group: DraftGroup): readonly (ToolMessage | undefined)[] {
    this.#settle(group);
    return group.results;
  }

  clear(): void {
    this.#unread = 0;
    this.#groups = new GroupList();
    this.#slots = new CallSlots();
    this.#places.clear();
    this.#unsettled.clear();
  }

  /** The changed history, which is known from now on. Do not use the draft after this. */
  finish(): BaseMessage[] {
    const original = this.#original as BaseMessage[];
    const tail = this.#write();
    const changed = tail.findIndex((message, index) => message !== original[this.#unread + index]);
    const same = changed < 0 ? tail.length : changed;
    const from = this.#unread + same;
    if (changed < 0 && from === original.length) return original;
    // `concat` copies once, at the right size.
    const kept = from === original.length ? original : original.slice(0, from);
    const messages = kept.concat(same === 0 ? tail : tail.slice(same));
    rememberChange(messages, original, from);
    return messages;
  }

  #write(): BaseMessage[] {
    const messages: BaseMessage[] = [];
    for (let group = this.#groups.first; group !== undefined; group = group.next) {
      messages.push(group.head);
      for (const result of group.results) if (result !== undefined) messages.push(result);
    }
    return messages;
  }

  #readGroup(): void {
    let start = this.#unread - 1;
    const results: ToolMessage[] = [];
    for (; start > 0; start -= 1) {
      const result = this.#original[start];
      if (result === undefined || !isResult(result)) break;
      results.push(result);
    }
    this.#unread = start;
    const head = this.#original[start];
    if (head === undefined) return;
    const group = this.#groups.insertAfter(undefined, head, callsAnsweredAfter(head));
    this.#fill(group, results.reverse());
  }

  #forget({ head, results }: DraftGroup): void {
    this.#places.delete(head.id ?? "");
    for (const result of results) if (result !== undefined) this.#places.delete(result.id ?? "");
  }

  /**
   * Removing a result can change which calls the results after it answer, if calls have the same id: only the
   * order of the results is stored, and each answers the first call of its id after the call of the result
   * before it.
   */
  #settle(group: DraftGroup): void {
    const emptied = this.#unsettled.get(group);
    if (emptied === undefined) return;
    this.#unsettled.delete(group);
    const [first, last] = emptied;
    const { calls, results } = group;
    let next = first;
    while (next > 0 && results[next - 1] === undefined) next -= 1;
    for (let call = first; call < results.length; call += 1) {
      const result = results[call];
      if (result === undefined) continue;
      const id = callIdOf(result);
      while (next < call && calls[next]?.id !== id) next += 1;
      // From here on, the results answer the same calls as before.
      if (next === call && call > last) return;
      if (next !== call) {
        results[call] = undefined;
        results[next] = result;
        this.#places.set(result.id ?? "", { group, call: next });
        this.#slots.reopen({ group, call });
      }
      next += 1;
    }
  }

  #fill(group: DraftGroup, results: readonly ToolMessage[]): void {
    group.results = new Array<ToolMessage | undefined>(group.calls.length).fill(undefined);
    this.#unsettled.delete(group);
    this.#places.set(group.head.id ?? "", { group, call: undefined });
    let call = 0;
    for (const result of results) {
      while (call < group.calls.length && group.calls[call]?.id !== callIdOf(result)) call += 1;
      group.results[call] = result;
      this.#places.set(result.id ?? "", { group, call });
      call += 1;
    }
    this.#slots.offer(group);
  }
}
