/**
 * Arrays that are known to be in normal form, with the positions of their messages.
 *
 * Finding a message by id takes constant time. All arrays that descend from one another by appending share
 * one map from id to position. An entry of this append-only map counts only if the message at that position
 * has that id, so arrays that branch from a common ancestor share the map without seeing each other's
 * messages.
 */

import type { BaseMessage } from "@langchain/core/messages";

interface Positions {
  /** Shared by all descendants; an entry is never overwritten. */
  readonly shared: Map<string, number>;
  /** Entries of this array that differ from the shared ones. */
  readonly moved: ReadonlyMap<string, number>;
  /** If the array has another length now, it was changed in place and is no longer known. */
  readonly length: number;
}

const knownHistories = new WeakMap<readonly BaseMessage[], Positions>();

/** Above this number of moved entries, indexing the array afresh is cheaper. */
const MOVED_LIMIT = 256;

const NOTHING_MOVED: ReadonlyMap<string, number> = new Map();

export function isKnownHistory(messages: readonly BaseMessage[]): boolean {
  return knownHistories.get(messages)?.length === messages.length;
}

/** Records an array that is in normal form. */
export function rememberHistory(messages: readonly BaseMessage[], positions = positionsOf(messages)): void {
  knownHistories.set(messages, { shared: positions, moved: NOTHING_MOVED, length: messages.length });
}

/** The position of the message with this id in a known history; undefined if there is none. */
export function positionIn(messages: readonly BaseMessage[], id: string): number | undefined {
  const positions = knownHistories.get(messages);
  const position = positions?.moved.get(id) ?? positions?.shared.get(id);
  return position !== undefined && messages[position]?.id === id ? position : undefined;
}

/** Records an array in normal form that equals a known history before the index `from`. */
export function rememberChange(
  messages: readonly BaseMessage[],
  former: readonly BaseMessage[],
  from: number,
): void {
  const known = knownHistories.get(former);
  const isAppended = from === former.length;
  const isLongChange = messages.length - from > MOVED_LIMIT || messages.length < former.length;
  if (known === undefined || (isLongChange && !isAppended)) {
    rememberHistory(messages);
    return;
  }
  const { shared, moved } = known;
  const movedNow = new Map<string, number>();
  for (let position = from; position < messages.length; position += 1) {
    const id = messages[position]?.id ?? "";
    const place = moved.get(id) ?? shared.get(id);
    if (place === undefined) shared.set(id, position);
    else if (place !== position) movedNow.set(id, position);
  }
  if (moved.size + movedNow.size > MOVED_LIMIT) {
    rememberHistory(messages);
    return;
  }
  const all = movedNow.size === 0 ? moved : new Map([...moved, ...movedNow]);
  knownHistories.set(messages, { shared, moved: all, length: messages.length });
}

function positionsOf(messages: readonly BaseMessage[]): Map<string, number> {
  return new Map(messages.map((message, position) => [message.id ?? "", position]));
}
