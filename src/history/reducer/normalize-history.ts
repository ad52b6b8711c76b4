/**
 * Brings any stored list into the form that the reducer keeps: real messages with unique ids, each result
 * directly after its call, in call order, and at most one result for each call.
 */

import { BaseMessage, BaseMessageChunk, RemoveMessage } from "@langchain/core/messages";
import { callsAnsweredAfter, flattenGroups } from "../calls/group.js";
import { copyMessage } from "../messages/copy-message.js";
import { deriveUnusedId } from "../messages/message-id.js";
import { mendMessage } from "../messages/message-shape.js";
import { readMessages } from "../messages/read-messages.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { callIdOf, isResult } from "../messages/result.js";
import { arrangeMessages } from "./arrange-messages.js";
import { isKnownHistory, rememberHistory } from "./draft.js";

/** Returns the same array if it is already in this form. The finding is cached by array. */
export function normalizeHistory(
  history: readonly unknown[],
  report: (repair: Repair) => void,
): readonly BaseMessage[] {
  const stored = history as readonly BaseMessage[];
  if (isKnownHistory(stored)) return stored;
  const positions = indexIfNormal(stored);
  if (positions !== undefined) {
    rememberHistory(stored, positions);
    return stored;
  }
  const groups = arrangeMessages(readMessages(history, report), callsAnsweredAfter, report);
  const messages = withUniqueIds(flattenGroups(groups), report);
  rememberHistory(messages, new Map(messages.map((message, position) => [message.id ?? "", position])));
  return messages;
}

const NOTHING_EXPECTED: readonly string[] = [];

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
  let expected = NOTHING_EXPECTED;
  for (const [position, message] of messages.entries()) {
    if (!isStoredMessage(message) || positions.has(message.id)) return undefined;
    positions.set(message.id, position);
    if (isResult(message)) {
      // The result answers the first remaining call with this id. The calls before that one stay without a
      // result.
      const index = expected.indexOf(callIdOf(message));
      if (index < 0) return undefined;
      expected = expected.slice(index + 1);
    } else {
      const calls = callsAnsweredAfter(message);
      expected = calls.length === 0 ? NOTHING_EXPECTED : calls.map((call) => call.id);
    }
  }
  return positions;
}

function isStoredMessage(value: unknown): value is BaseMessage & { id: string } {
  return (
    BaseMessage.isInstance(value) &&
    typeof value.id === "string" &&
    value.id !== "" &&
    isOfStoredClass(value) &&
    mendMessage(value) === value
  );
}

/** Whether messages of a class are stored unchanged, by prototype. Cached because the check is costly. */
const storedClasses = new WeakMap<object, boolean>();

function isOfStoredClass(message: BaseMessage): boolean {
  const prototype: object = Object.getPrototypeOf(message);
  const known = storedClasses.get(prototype);
  if (known !== undefined) return known;
  const isStored = !RemoveMessage.isInstance(message) && !BaseMessageChunk.isInstance(message);
  storedClasses.set(prototype, isStored);
  return isStored;
}

function withUniqueIds(messages: readonly BaseMessage[], report: (repair: Repair) => void): BaseMessage[] {
  const ids = new Set<string>();
  const claimed = new Set(messages.map((message) => message.id));
  let previousId = "";
  return messages.map((message) => {
    const isOwn = typeof message.id === "string" && message.id !== "" && !ids.has(message.id);
    const identified = isOwn
      ? message
      : copyMessage(message, {
          id: deriveUnusedId(message, previousId, (id) => claimed.has(id) || ids.has(id)),
        });
    if (!isOwn) report(createRepair({ kind: "id-derived", message: identified, previousId: message.id }));
    previousId = identified.id ?? "";
    ids.add(previousId);
    return identified;
  });
}
