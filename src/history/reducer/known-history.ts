/**
 * Arrays that are known to be in normal form, with the positions of their messages.
 *
 * Finding a message by id takes constant time. All arrays that descend from one another share one map from id to
 * position. An entry of this append-only map counts only if the message at that position has that id, so arrays that
 * branch from a common ancestor share the map without seeing each other's messages. If messages were removed, those
 * after them are a few positions away from their entry.
 */

import type { BaseMessage } from "@langchain/core/messages";

interface Positions {
  /** Shared by all descendants; an entry is never overwritten. */
  readonly shared: Map<string, number>;
  /** Entries of this array that differ from the shared ones. */
  readonly moved: ReadonlyMap<string, number>;
  /** A message is at most this many positions before its entry. */
  readonly slack: number;
  /** If the array has another length now, it was changed in place and is no longer known. */
  readonly length: number;
}

const knownHistories = new WeakMap<readonly BaseMessage[], Positions>();
/** The latest known array that begins with a message. It is kept as long as the message. */
const latestHistories = new WeakMap<BaseMessage, readonly BaseMessage[]>();

/** Above this number of moved entries, indexing the array afresh is cheaper. */
const MOVED_LIMIT = 256;
/** Above this slack too. */
const SLACK_LIMIT = 32;

const NOTHING_MOVED: ReadonlyMap<string, number> = new Map();

export function isKnownHistory(messages: readonly BaseMessage[]): boolean {
  return knownHistories.get(messages)?.length === messages.length;
}

/** Records an array that is in normal form. */
export function rememberHistory(messages: readonly BaseMessage[], positions = positionsOf(messages)): void {
  remember(messages, { shared: positions, moved: NOTHING_MOVED, slack: 0, length: messages.length });
}

/**
 * Records an array if it is another array of the messages of a known history, or of the first of them.
 *
 * @returns Whether it is.
 */
export function rememberCopy(messages: readonly BaseMessage[]): boolean {
  const [first] = messages;
  const former = typeof first === "object" && first !== null ? latestHistories.get(first) : undefined;
  const known = former && knownHistories.get(former);
  if (former === undefined || known === undefined || known.length !== former.length) return false;
  if (messages.length > former.length) return false;
  for (let index = 0; index < messages.length; index += 1)
    if (messages[index] !== former[index]) return false;
  remember(messages, { ...known, length: messages.length });
  return true;
}

/** Records a known history in which one message was replaced by another one with its id. */
export function rememberReplacement(messages: readonly BaseMessage[], former: readonly BaseMessage[]): void {
  const known = knownHistories.get(former);
  if (known === undefined) rememberHistory(messages);
  else remember(messages, { ...known, length: messages.length });
}

/** Records a known history without `count` messages that stood side by side. */
export function rememberRemoval(
  messages: readonly BaseMessage[],
  former: readonly BaseMessage[],
  count: number,
): void {
  const known = knownHistories.get(former);
  const slack = (known?.slack ?? 0) + count;
  if (known === undefined || slack > SLACK_LIMIT) rememberHistory(messages);
  else remember(messages, { ...known, slack, length: messages.length });
}

/** The position of the message with this id in a known history; undefined if there is none. */
export function positionIn(messages: readonly BaseMessage[], id: string): number | undefined {
  const positions = knownHistories.get(messages);
  const entry = positions?.moved.get(id) ?? positions?.shared.get(id);
  if (positions === undefined || entry === undefined) return undefined;
  const least = Math.max(entry - positions.slack, 0);
  for (let position = entry; position >= least; position -= 1)
    if (messages[position]?.id === id) return position;
  return undefined;
}

/** Whether a message of the list has this id. A list that is not known is searched. */
export function hasMessage(messages: readonly BaseMessage[], id: string): boolean {
  if (isKnownHistory(messages)) return positionIn(messages, id) !== undefined;
  return messages.some((message) => message.id === id);
}

function remember(messages: readonly BaseMessage[], positions: Positions): void {
  knownHistories.set(messages, positions);
  const [first] = messages;
  if (first !== undefined) latestHistories.set(first, messages);
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
  const { shared, moved, slack } = known;
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
  remember(messages, { shared, moved: all, slack, length: messages.length });
}

function positionsOf(messages: readonly BaseMessage[]): Map<string, number> {
  return new Map(messages.map((message, position) => [message.id ?? "", position]));
}
