import type { BaseMessage } from "@langchain/core/messages";
import { type Grouping, placesInGroups, type Refused } from "../../../history/calls/group.js";
import { addToList } from "../../../shared/add-to-list.js";
import type { InputReason } from "./explanation.js";

/** Where a message of the input comes from: a message of the history, or a step that added one. */
export interface Origin {
  /** The index in the history. Undefined for a message that is not stored. */
  readonly index: number | undefined;
  readonly reasons: InputReason[];
}

/** A message on its way to the input. Several messages can become one. */
export interface Item {
  readonly message: BaseMessage;
  readonly origins: readonly Origin[];
}

export type Why = (before: BaseMessage, after: BaseMessage | undefined) => InputReason;

/** The list of messages between two steps, with the origin of each. */
export class Lineage {
  /** One for each message of the history. */
  readonly stored: readonly Origin[];
  items: readonly Item[];

  constructor(history: readonly BaseMessage[]) {
    this.stored = Array.from(history, (_, index) => ({ index, reasons: [] }));
    this.items = this.stored.map((origin, index) => ({
      message: history[index] as BaseMessage,
      origins: [origin],
    }));
  }

  /** A step that changed messages one by one. `after` has what is left of each message. */
  change(after: readonly (BaseMessage | undefined)[], why: Why): void {
    this.items = this.items.flatMap((item, index) => changedItem(item, after[index], why));
  }

  /**
   * A step that kept, left out, moved and added messages, and changed none.
   *
   * @param grouping The list before the step. An object that it has twice is what the grouping says of its place.
   * @param isFixed Whether a message is moved only if it changes places with another fixed one.
   */
  arrange(
    after: readonly BaseMessage[],
    { groups, refusedAt }: Grouping,
    isFixed: (message: BaseMessage) => boolean,
    why: {
      readonly leftOut: (message: BaseMessage, refused: Refused | undefined) => InputReason;
      readonly moved: (message: BaseMessage) => InputReason;
      /** Undefined if the step adds nothing. */
      readonly added?: (message: BaseMessage) => InputReason;
    },
  ): void {
    const left = new Map<BaseMessage, Item[]>();
    for (const place of placesInGroups(groups).toReversed()) {
      const item = this.items[place];
      if (item !== undefined) addToList(left, item.message, item);
    }
    const items = after.map(
      (message): Item => left.get(message)?.pop() ?? { message, origins: [addedFor(why.added?.(message))] },
    );
    const kept = new Set(items);
    const before = this.items.filter((item) => kept.has(item));
    for (const [place, item] of this.items.entries())
      if (!kept.has(item)) tell(item, why.leftOut(item.message, refusedAt.get(place)));
    for (const item of movedItems(before, items, isFixed)) tell(item, why.moved(item.message));
    this.items = items;
  }
}

/** The origin of a message that is not stored. */
export function addedFor(reason?: InputReason): Origin {
  return { index: undefined, reasons: reason === undefined ? [] : [reason] };
}

/** An item that a step has changed, or nothing if it left it out. */
export function changedItem(item: Item, after: BaseMessage | undefined, why: Why): readonly Item[] {
  if (after !== undefined && after === item.message) return [item];
  tell(item, why(item.message, after));
  return after === undefined ? [] : [{ message: after, origins: item.origins }];
}

/** Adds a reason, once. */
export function tell({ origins }: Item, reason: InputReason): void {
  for (const { reasons } of origins)
    if (!reasons.some(({ code, text }) => code === reason.code && text === reason.text)) reasons.push(reason);
}

/** The items that are in another place. Fixed ones keep their order; each other one is between two of them. */
function movedItems(
  before: readonly Item[],
  after: readonly Item[],
  isFixed: (message: BaseMessage) => boolean,
): readonly Item[] {
  const places = new Map<Item, { readonly gap: number; readonly place: number }>();
  let gap = 0;
  for (const [place, item] of before.entries()) {
    if (isFixed(item.message)) gap += 1;
    places.set(item, { gap, place });
  }
  let last = { gap: 0, place: -1 };
  gap = 0;
  return after.filter((item) => {
    const own = places.get(item);
    if (own === undefined) return false;
    if (isFixed(item.message)) gap += 1;
    if (own.gap !== gap || own.place < last.place) return true;
    last = own;
    return false;
  });
}
