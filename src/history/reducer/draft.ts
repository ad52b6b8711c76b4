/**
 * A history that is being changed. The original array does not change.
 *
 * The original is read into groups from its end, only as far back as a change needs. So an append costs one copy of the
 * array and work for the new messages. Many changes together cost one pass over the history and work for each change.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { Call } from "../call.js";
import {
  type Accept,
  flattenGroups,
  type Group,
  groupMessages,
  openGroup,
  type Slot,
  Slots,
} from "../group.js";
import type { NoteRepair } from "../repair.js";
import { isPlaceholder } from "../result.js";
import { positionIn, rememberHistory } from "./normalize-history.js";

/** A message that is not a result, its calls, and the result of each call. */
export interface DraftGroup {
  head: BaseMessage;
  calls: readonly Call[];
  /** `results[n]` answers `calls[n]`. */
  results: (ToolMessage | undefined)[];
  previous: DraftGroup | undefined;
  next: DraftGroup | undefined;
  /** Whether two calls share an id. Undefined until something asks. */
  repeatsIds: boolean | undefined;
  /** Whether a result was taken out, so that others can answer other calls: see `#settle`. */
  isUnsettled: boolean;
  isRemoved: boolean;
}

/** Where a message is. `call` is the index of the call that it answers; undefined for a group's head. */
export interface DraftPlace {
  readonly group: DraftGroup;
  readonly call: number | undefined;
}

/**
 * Which calls a search accepts. `"empty"`: those without a result. `"open"`: also those with a placeholder. `"any"`:
 * all. A call that a summary archived with its result does not wait for another.
 */
const ACCEPTED = {
  empty: (result, call) => result === undefined && call?.kind !== "answered",
  open: (result, call) => (result === undefined ? call?.kind !== "answered" : isPlaceholder(result)),
  any: () => true,
} satisfies Record<string, Accept>;

type Search = keyof typeof ACCEPTED;

export class Draft {
  readonly #original: readonly BaseMessage[];
  /** Messages of the original before this index are not read yet. */
  #unread: number;
  /** The groups of all other messages, as a linked list. */
  #first: DraftGroup | undefined;
  #last: DraftGroup | undefined;
  /** The places of their messages, by id. */
  readonly #places = new Map<string, DraftPlace>();
  /** Undefined until a slot is searched, and once the slots' order is no longer known. */
  #slots: Slots<DraftGroup, Search> | undefined;

  /** Takes note of what is done beyond the update's request. */
  readonly report: NoteRepair;

  /** @param messages A known history: see `isKnownHistory`. */
  constructor(messages: readonly BaseMessage[], report: NoteRepair) {
    this.#original = messages;
    this.#unread = messages.length;
    this.report = report;
  }

  has(id: string): boolean {
    return this.#places.has(id) || (positionIn(this.#original, id) ?? this.#unread) < this.#unread;
  }

  /** The place of the message with this id; undefined if there is none. */
  find(id: string): DraftPlace | undefined {
    this.#readFrom(positionIn(this.#original, id) ?? this.#unread);
    return this.#places.get(id);
  }

  /** The first accepted slot in the last group that has one for a result of this call. */
  findSlot(callId: string, search: Search): Slot<DraftGroup> | undefined {
    for (;;) {
      this.#slots ??= new Slots(ACCEPTED, this.#groups());
      const slot = this.#slots.nearest(callId, search);
      if (slot === undefined && this.#unread > 0) this.#readFrom(this.#unread - 1);
      else if (slot === undefined || !slot.group.isUnsettled) return slot;
      else this.#settle(slot.group);
    }
  }

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

  /** Inserts a message after a group; before all groups read so far if that is undefined. */
  insertAfter(previous: DraftGroup | undefined, head: BaseMessage): void {
    const group = this.#link(previous, [openGroup(head)]);
    if (group === undefined || group.calls.length === 0) return;
    if (group.next === undefined) this.#slots?.offer(group);
    else this.#slots = undefined;
  }

  removeGroup(group: DraftGroup): void {
    this.#forget(group);
    group.isRemoved = true;
    const { previous, next } = group;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
  }

  /** Replaces a group's head and its results, which are in call order. */
  replaceGroup(group: DraftGroup, head: BaseMessage, results: readonly ToolMessage[]): void {
    const { calls } = group;
    this.#forget(group);
    this.#fill(group, head, results);
    if (!isSameCalls(calls, group.calls)) this.#slots = undefined;
  }

  /** Puts a result into a slot, or takes it out. */
  setResult({ group, call }: Slot<DraftGroup>, result: ToolMessage | undefined): void {
    const former = group.results[call];
    if (former === result) return;
    if (former !== undefined) this.#places.delete(former.id ?? "");
    group.results[call] = result;
    if (result !== undefined) {
      this.#places.set(result.id ?? "", { group, call });
      return;
    }
    group.repeatsIds ??= new Set(group.calls.map(({ id }) => id)).size < group.calls.length;
    group.isUnsettled = group.repeatsIds;
    this.#slots?.reopen(group.calls[call]?.id ?? "");
  }

  /** A group's results, each at the index of the call that it answers. */
  resultsOf(group: DraftGroup): readonly (ToolMessage | undefined)[] {
    this.#settle(group);
    return group.results;
  }

  clear(): void {
    this.#unread = 0;
    this.#first = undefined;
    this.#last = undefined;
    this.#places.clear();
    this.#slots = undefined;
  }

  /** The changed history, which is then known. The same array if nothing changed. Do not use the draft after this. */
  finish(): BaseMessage[] {
    const original = this.#original as BaseMessage[];
    const changed = flattenGroups(this.#groups());
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

  *#groups(): Iterable<DraftGroup> {
    for (let group = this.#first; group !== undefined; group = group.next) yield group;
  }

  /**
   * Reads on to a message of the original. Each read offers all slots again, so it reads as much again as was read
   * before.
   */
  #readFrom(position: number): void {
    if (position >= this.#unread) return;
    const end = this.#unread;
    let start = Math.max(0, Math.min(position, 2 * end - this.#original.length));
    while (start > 0 && this.#original[start]?.type === "tool") start -= 1;
    this.#unread = start;
    this.#slots = undefined;
    this.#link(undefined, groupMessages(this.#original.slice(start, end)).groups);
  }

  /** Adds groups after a group; before all groups if that is undefined. Returns the last of them. */
  #link(after: DraftGroup | undefined, groups: readonly Group[]): DraftGroup | undefined {
    const next = after === undefined ? this.#first : after.next;
    let previous = after;
    for (const { head, calls, results } of groups) {
      const group = { head, calls, results: [...results], previous, next, ...UNCHANGED };
      this.#place(group);
      if (previous === undefined) this.#first = group;
      else previous.next = group;
      previous = group;
    }
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    return previous;
  }

  /** Only the results' order is stored: each answers the first call with its id after the previous result's call. */
  #fill(group: DraftGroup, head: BaseMessage, ordered: readonly ToolMessage[]): void {
    for (const { calls, results } of groupMessages([head, ...ordered]).groups)
      Object.assign(group, { head, calls, results: [...results], ...UNCHANGED });
    this.#place(group);
  }

  #place(group: DraftGroup): void {
    const { head, results } = group;
    this.#places.set(head.id ?? "", { group, call: undefined });
    for (const [call, result] of results.entries())
      if (result !== undefined) this.#places.set(result.id ?? "", { group, call });
  }

  #forget(group: DraftGroup): void {
    for (const { id } of flattenGroups([group])) this.#places.delete(id ?? "");
  }

  /** After a result was taken out, others can answer earlier calls if calls share an id. */
  #settle(group: DraftGroup): void {
    if (!group.isUnsettled) return;
    const results = group.results.filter((result) => result !== undefined);
    this.#fill(group, group.head, results);
    for (const id of new Set(group.calls.map((call) => call.id))) this.#slots?.reopen(id);
  }
}

const UNCHANGED = { repeatsIds: undefined, isUnsettled: false, isRemoved: false };

function isSameCalls(one: readonly Call[], other: readonly Call[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ id, kind }, index) => id === other[index]?.id && kind === other[index]?.kind)
  );
}
