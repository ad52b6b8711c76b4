/**
 * Brings any stored list into the reducer's form: real messages with unique ids, each result directly after its call,
 * in call order, and at most one result per call. Lists in this form are known, and are not read again.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { safely } from "../../shared/json.js";
import {
  type CallsOfHead,
  callsAnsweredAfter,
  flattenGroups,
  type Group,
  groupMessages,
  placesInGroups,
} from "../group.js";
import { copyMessage, deriveUnusedId, isChunk } from "../message.js";
import { isMessage, readMessages } from "../read-messages.js";
import { createRepair, type NoteRepair } from "../repair.js";
import { isResult, recoveredAfter, withoutPlace } from "../result.js";
import { isReadBack } from "../storable.js";

interface Known {
  /**
   * The messages' positions, by id. A list and those that were appended to it share the map. Two lists can have the
   * same beginning, so an entry counts only if the message at its position has the id.
   */
  readonly positions: Map<string, number>;
  /** If the list now has another length, it was changed in place and is no longer known. */
  readonly length: number;
}

/** A program that both imports and requires the library can have the reducer of one copy beside the middleware of the other. */
const knownHistories = /* @__PURE__ */ forAllCopies(
  "known-histories",
  () => new WeakMap<readonly unknown[], Known>(),
);

/** Returns the same array if it is already in this form. The finding is cached by array. */
export function normalizeHistory(
  history: readonly unknown[],
  report: NoteRepair = () => {},
): readonly BaseMessage[] {
  if (isKnownHistory(history)) return history as readonly BaseMessage[];
  const read = isStoredList(history) ? history : readMessages(history, report).map(withoutPlace);
  const messages = withUniqueIds(arrangeMessages(read, callsAnsweredAfter, report).arranged, report);
  rememberHistory(messages, [], 0);
  return messages;
}

/** Whether the reducer made or has read this list, and it is in normal form. */
export function isKnownHistory(messages: readonly unknown[]): boolean {
  return knownHistories.get(messages)?.length === messages.length;
}

/** Whether a message of the list has this id. An unknown list is searched. */
export function hasMessage(messages: readonly BaseMessage[], id: string): boolean {
  if (isKnownHistory(messages)) return positionIn(messages, id) !== undefined;
  return messages.some((message) => message.id === id);
}

/** The position of the message with this id in a known history; undefined if there is none. */
export function positionIn(messages: readonly BaseMessage[], id: string): number | undefined {
  const position = knownHistories.get(messages)?.positions.get(id);
  return position === undefined || messages[position]?.id !== id ? undefined : position;
}

/** Records a list in normal form. `former` is a known list, and the first `kept` messages of both are the same. */
export function rememberHistory(
  messages: readonly BaseMessage[],
  former: readonly BaseMessage[],
  kept: number,
): void {
  const shared = knownHistories.get(former)?.positions;
  const positions =
    shared !== undefined && addPositions(shared, messages, kept)
      ? shared
      : new Map(messages.map(({ id = "" }, position) => [id, position]));
  knownHistories.set(messages, { positions, length: messages.length });
}

/** Returns whether the map can be used. An entry of a list that branches off can be in the way. */
function addPositions(
  positions: Map<string, number>,
  messages: readonly BaseMessage[],
  from: number,
): boolean {
  for (let position = from; position < messages.length; position += 1) {
    const id = messages[position]?.id ?? "";
    const taken = positions.get(id) ?? position;
    if (taken !== position) return false;
    positions.set(id, position);
  }
  // Messages that left a list stay in the map.
  return positions.size <= 2 * messages.length;
}

/**
 * Moves any list's results to their calls. Reports each result that has no place and is dropped, and each that moves.
 *
 * @returns The list in which each result is directly after its message, in call order, or the same list if it already
 * is. And the given list's groups.
 */
export function arrangeMessages(
  messages: readonly BaseMessage[],
  callsOfHead: CallsOfHead,
  report: NoteRepair,
): { readonly arranged: readonly BaseMessage[]; readonly groups: readonly Group[] } {
  const { groups, orphans, duplicates, refusedAt } = groupMessages(messages, callsOfHead);
  for (const message of orphans) report(createRepair({ kind: "orphan-refused", message }));
  for (const message of duplicates) report(createRepair({ kind: "duplicate-refused", message }));
  const places = placesInGroups(groups);
  if (refusedAt.size === 0 && places.every((place, index) => place === index))
    return { arranged: messages, groups };
  const placed = [...messages.keys()].filter((place) => !refusedAt.has(place));
  for (const [index, place] of places.entries()) {
    const message = messages[place];
    if (placed[index] !== place && message !== undefined && isResult(message))
      report(createRepair({ kind: "result-moved", message }));
  }
  return { arranged: flattenGroups(groups), groups };
}

/** Whether all values are messages as the reducer stores them, each with an id. */
function isStoredList(values: readonly unknown[]): values is BaseMessage[] {
  return safely(() => [...values].every(isStored), false);
}

function isStored(value: unknown): boolean {
  if (!isMessage(value) || !hasId(value) || value.type === "remove") return false;
  return !isChunk(value) && isReadBack(value) && recoveredAfter(value) === undefined;
}

/** Gives each message without a unique id a derived one. The same list if there is none. */
function withUniqueIds(messages: readonly BaseMessage[], report: NoteRepair): readonly BaseMessage[] {
  const claimed = new Set(messages.map(({ id }) => id));
  if (claimed.size === messages.length && messages.every(hasId)) return messages;
  const ids = new Set<string>();
  let previousId = "";
  return messages.map((message) => {
    let own = message;
    if (!hasId(message) || ids.has(message.id)) {
      const { id: formerId } = message;
      const id = deriveUnusedId(message, previousId, (taken) => claimed.has(taken) || ids.has(taken));
      // If another message has the same id, this one is copied.
      own = hasId(message) ? copyMessage(message, { id }) : identify(message, id);
      report(createRepair({ kind: "id-derived", message: own, previousId: formerId }));
    }
    previousId = own.id ?? "";
    ids.add(previousId);
    return own;
  });
}

export function hasId(message: BaseMessage): message is BaseMessage & { id: string } {
  return typeof message.id === "string" && message.id !== "";
}

/**
 * Writes a derived id into the message itself, as LangGraph's own reducer does. Its users rely on that: they keep a
 * message, send it again, and mean the same message. A message that cannot be written to is copied.
 */
export function identify<T extends BaseMessage>(message: T, id: string): T {
  const lc_kwargs = { ...message.lc_kwargs, id };
  try {
    if (Reflect.set(message, "lc_kwargs", lc_kwargs) && Reflect.set(message, "id", id)) return message;
  } catch {
    // A setter threw.
  }
  const fields: Partial<BaseMessage> = { id };
  return copyMessage<BaseMessage>(message, fields) as T;
}
