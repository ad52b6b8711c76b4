/**
 * Finds the slot for a result: the place of a call's result in its group.
 *
 * For each call id, the groups with such calls are in a heap, the last group first. A group leaves the heap when
 * none of its slots can take a result, and returns when one is emptied. So n results take n log n steps.
 */

import { addToList } from "../../shared/add-to-list.js";
import { Heap } from "../../shared/heap.js";
import { isPlaceholder } from "../messages/result.js";
import type { DraftGroup } from "./group-list.js";

export interface Slot {
  readonly group: DraftGroup;
  /** The index of the call. */
  readonly call: number;
}

/**
 * Which slots a search accepts. `"empty"`: those without a result. `"open"`: also those with a placeholder.
 * `"any"`: all. A call that a summary archived together with its result does not wait for another one.
 */
const SEARCHES = ["empty", "open", "any"] as const;
export type Search = (typeof SEARCHES)[number];

/** The slots of one call id in one group. */
interface Offer {
  readonly group: DraftGroup;
  /** The indexes of the calls, in order. */
  readonly calls: readonly number[];
  /** How many of the first slots are known not to be accepted. */
  readonly passed: Record<Search, number>;
}

type Heaps = Readonly<Record<Search, Heap<Offer>>>;

export class CallSlots {
  readonly #heaps = new Map<string, Heaps>();
  /** An offer that is not current is dropped when a search meets it. */
  readonly #current = new Map<DraftGroup, Map<string, Offer>>();

  /** Makes the slots of a group available, or takes note that its calls or results have changed. */
  offer(group: DraftGroup): void {
    if (group.calls.length === 0 && !this.#current.has(group)) return;
    const indexes = new Map<string, number[]>();
    for (const [index, { id }] of group.calls.entries()) addToList(indexes, id, index);
    this.#current.set(group, new Map());
    for (const [id, calls] of indexes) this.#add(id, group, calls);
  }

  /** Makes a slot that was emptied available again. */
  reopen({ group, call }: Slot): void {
    const id = group.calls[call]?.id ?? "";
    const offer = this.#current.get(group)?.get(id);
    if (offer === undefined) return;
    const place = placeIn(offer.calls, call);
    for (const search of SEARCHES) {
      offer.passed[search] = Math.min(offer.passed[search], place);
      this.#heapsOf(id)[search].add(offer);
    }
  }

  withdraw(group: DraftGroup): void {
    this.#current.delete(group);
  }

  /** Whether no two calls of the group have the same id. */
  hasDistinctIds(group: DraftGroup): boolean {
    return this.#current.get(group)?.size === group.calls.length;
  }

  /** The first accepted slot of the last group that has one. Slots of the group `except` are not accepted. */
  find(id: string, search: Search, except: DraftGroup | undefined): Slot | undefined {
    const heap = this.#heaps.get(id)?.[search];
    for (;;) {
      const offer = heap?.first;
      if (heap === undefined || offer === undefined) return undefined;
      const call = this.#isCurrent(offer, id) ? firstAccepted(offer, search) : undefined;
      if (call !== undefined && offer.group !== except) return { group: offer.group, call };
      heap.removeFirst();
      if (call === undefined) continue;
      const slot = this.find(id, search, except);
      heap.add(offer);
      return slot;
    }
  }

  #add(id: string, group: DraftGroup, calls: readonly number[]): void {
    const offer: Offer = { group, calls, passed: { empty: 0, open: 0, any: 0 } };
    this.#current.get(group)?.set(id, offer);
    for (const search of SEARCHES) this.#heapsOf(id)[search].add(offer);
  }

  #heapsOf(id: string): Heaps {
    const known = this.#heaps.get(id);
    if (known !== undefined) return known;
    const heaps = { empty: new Heap(isLater), open: new Heap(isLater), any: new Heap(isLater) };
    this.#heaps.set(id, heaps);
    return heaps;
  }

  #isCurrent(offer: Offer, id: string): boolean {
    return this.#current.get(offer.group)?.get(id) === offer;
  }
}

function isLater(one: Offer, other: Offer): boolean {
  return one.group.order > other.group.order;
}

/** The place of a number in an ascending list. */
function placeIn(numbers: readonly number[], number: number): number {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

function firstAccepted({ group, calls, passed }: Offer, search: Search): number | undefined {
  for (let call = calls[passed[search]]; call !== undefined; call = calls[passed[search]]) {
    if (isAccepted(group, call, search)) return call;
    passed[search] += 1;
  }
  return undefined;
}

function isAccepted({ calls, results }: DraftGroup, call: number, search: Search): boolean {
  if (search === "any") return true;
  const result = results[call];
  if (result === undefined) return calls[call]?.kind !== "answered";
  return search === "open" && isPlaceholder(result);
}
