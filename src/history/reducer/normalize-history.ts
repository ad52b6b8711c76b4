/**
 * Brings any stored list into the form that the reducer keeps: real messages with unique ids, each result
 * directly after its call, in call order, and at most one result for each call.
 */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { callsAnsweredAfter, flattenGroups } from "../calls/group.js";
import { type Call, isListedAt } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";
import { isChunk } from "../messages/is-chunk.js";
import { deriveUnusedId } from "../messages/message-id.js";
import { isReadBack } from "../messages/read-back.js";
import { recoveredAfter, withoutPlace } from "../messages/recovered.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { callIdOf, isResult } from "../messages/result.js";
import { isMessage } from "../reading/coerce-message.js";
import { readMessages } from "../reading/read-messages.js";
import { arrangeMessages } from "./arrange-messages.js";
import { hasId, identify } from "./identify.js";
import { isKnownHistory, rememberCopy, rememberHistory } from "./known-history.js";

/** Returns the same array if it is already in this form. The finding is cached by array. */
export function normalizeHistory(
  history: readonly unknown[],
  report: (repair: Repair) => void,
): readonly BaseMessage[] {
  const stored = history as readonly BaseMessage[];
  if (isKnownHistory(stored) || rememberCopy(stored)) return stored;
  const positions = indexIfNormal(stored);
  if (positions !== undefined) {
    rememberHistory(stored, positions);
    return stored;
  }
  const groups = arrangeMessages(readMessages(history, report).map(withoutPlace), callsAnsweredAfter, report);
  const messages = withUniqueIds(flattenGroups(groups), report);
  rememberHistory(messages);
  return messages;
}

/** The position of each id if the list is in normal form; undefined otherwise. */
function indexIfNormal(messages: readonly BaseMessage[]): Map<string, number> | undefined {
  try {
    return indexNormal(messages);
  } catch {
    // Reading a value threw.
    return undefined;
  }
}

function indexNormal(messages: readonly BaseMessage[]): Map<string, number> | undefined {
  const positions = new Map<string, number>();
  let head: BaseMessage | undefined;
  let calls: readonly Call[] | undefined;
  let next = 0;
  for (let position = 0; position < messages.length; position += 1) {
    const message: unknown = messages[position];
    if (!isStoredMessage(message) || recoveredAfter(message) !== undefined) return undefined;
    positions.set(message.id, position);
    // An id that is not new.
    if (positions.size === position) return undefined;
    if (!isResult(message)) {
      head = message;
      calls = undefined;
      next = 0;
      continue;
    }
    if (head === undefined) return undefined;
    const callId = callIdOf(message);
    if (!isListedAt(head, next, callId)) {
      // The result answers the first remaining call with this id. The calls before that one stay without a
      // result.
      calls ??= callsAnsweredAfter(head);
      while (next < calls.length && calls[next]?.id !== callId) next += 1;
      if (next === calls.length) return undefined;
    }
    next += 1;
  }
  return positions;
}

function isStoredMessage(value: unknown): value is BaseMessage & { id: string } {
  return isMessage(value) && hasId(value) && isOfStoredClass(value);
}

/** Whether messages of a class are stored unchanged, by prototype. Cached because the check is costly. */
const storedClasses = new WeakMap<object, boolean>();
/** The first of the prototypes whose messages are. A search in a short list costs less. */
const usualPrototypes: object[] = [];
const MOST_USUAL = 8;

function isOfStoredClass(message: BaseMessage): boolean {
  const prototype: object = Object.getPrototypeOf(message);
  if (usualPrototypes.includes(prototype)) return true;
  const known = storedClasses.get(prototype);
  if (known !== undefined) return known;
  const isStored = !RemoveMessage.isInstance(message) && !isChunk(message) && isReadBack(message);
  storedClasses.set(prototype, isStored);
  if (isStored && usualPrototypes.length < MOST_USUAL) usualPrototypes.push(prototype);
  return isStored;
}

function withUniqueIds(messages: readonly BaseMessage[], report: (repair: Repair) => void): BaseMessage[] {
  const ids = new Set<string>();
  const claimed = new Set(messages.map((message) => message.id));
  let previousId = "";
  return messages.map((message) => {
    const { id: formerId } = message;
    const isOwn = hasId(message) && !ids.has(message.id);
    const identified = isOwn
      ? message
      : withNewId(message, previousId, (id) => claimed.has(id) || ids.has(id));
    if (!isOwn) report(createRepair({ kind: "id-derived", message: identified, previousId: formerId }));
    previousId = identified.id ?? "";
    ids.add(previousId);
    return identified;
  });
}

/** A message with an id that another one has too is copied. */
function withNewId(message: BaseMessage, previousId: string, isTaken: (id: string) => boolean): BaseMessage {
  const id = deriveUnusedId(message, previousId, isTaken);
  return hasId(message) ? copyMessage(message, { id }) : identify(message, id);
}
