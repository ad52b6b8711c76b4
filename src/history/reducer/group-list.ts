/** The groups of a draft, as a linked list. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { Call } from "../messages/call.js";

/** A message that is not a result, its calls, and the result of each call. */
export interface DraftGroup {
  head: BaseMessage;
  calls: readonly Call[];
  /** `results[n]` answers `calls[n]`. */
  results: (ToolMessage | undefined)[];
  /** Grows from the first group of the list to the last. */
  order: number;
  previous: DraftGroup | undefined;
  next: DraftGroup | undefined;
}

/** Leaves room for groups in between. */
const STEP = 2 ** 20;

export class GroupList {
  first: DraftGroup | undefined;
  last: DraftGroup | undefined;

  /** Adds a group after another one; at the beginning if that is undefined. */
  insertAfter(previous: DraftGroup | undefined, head: BaseMessage, calls: readonly Call[]): DraftGroup {
    if (previous?.next !== undefined) makeRoomAfter(previous);
    const next = previous === undefined ? this.first : previous.next;
    const order = orderBetween(previous?.order, next?.order);
    const group: DraftGroup = { head, calls, results: [], order, previous, next };
    if (previous === undefined) this.first = group;
    else previous.next = group;
    if (next === undefined) this.last = group;
    else next.previous = group;
    return group;
  }

  remove({ previous, next }: DraftGroup): void {
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
  }
}

function orderBetween(before: number | undefined, after: number | undefined): number {
  if (before === undefined) return after === undefined ? 0 : after - STEP;
  return after === undefined ? before + STEP : Math.floor((before + after) / 2);
}

/**
 * Numbers groups anew so that a number is free after `group`. By the rule of Dietz and Sleator (1987), the
 * n-th group after it keeps its number if that is more than n² away. So n insertions take n log n steps,
 * wherever they are.
 */
function makeRoomAfter(group: DraftGroup): void {
  let end = group.next;
  let count = 1;
  while (end !== undefined && end.order - group.order <= count * count) {
    end = end.next;
    count += 1;
  }
  const step = end === undefined ? STEP : Math.floor((end.order - group.order) / count);
  let { order } = group;
  for (let moved = group.next; moved !== undefined && moved !== end; moved = moved.next) {
    order += step;
    moved.order = order;
  }
}
