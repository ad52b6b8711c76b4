import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { InvalidMessageError } from "../../errors.js";
import { addToList } from "../../shared/add-to-list.js";
import { REMOVE_ALL_MESSAGES } from "../messages/remove-all-messages.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { coerceMessage, convertMessage, isMessage } from "./coerce-message.js";
import { mendMessage } from "./message-shape.js";

/**
 * Reads any list as messages. A removal applies to the messages before it. A value that is not a message is
 * reported.
 */
export function readMessages(values: readonly unknown[], report: (repair: Repair) => void): BaseMessage[] {
  return readEach(values, report).filter((message) => message !== undefined);
}

/** The message that each value becomes; undefined for a value that is not a message, or is removed. */
export function readEach(
  values: readonly unknown[],
  report: (repair: Repair) => void,
): (BaseMessage | undefined)[] {
  const messages: (BaseMessage | undefined)[] = [];
  const places = new Map<string | undefined, number[]>();
  let removed = 0;
  for (const value of values) {
    const message = readMessage(value, report);
    const place = messages.length;
    if (message === undefined || RemoveMessage.isInstance(message)) messages.push(undefined);
    else messages.push(message);
    if (message === undefined) continue;
    if (!RemoveMessage.isInstance(message)) {
      addToList(places, message.id, place);
    } else if (message.id === REMOVE_ALL_MESSAGES) {
      removed = place;
      places.clear();
    } else {
      for (const earlier of places.get(message.id) ?? []) messages[earlier] = undefined;
      places.delete(message.id);
    }
  }
  return messages.fill(undefined, 0, removed);
}

/** Whether all values are messages, and none of them is a removal. Chunks count, because the list is not stored. */
export function isMessageList(values: readonly unknown[]): values is BaseMessage[] {
  for (const value of values) if (!isListed(value)) return false;
  return true;
}

/** Whether the value is a message, and no removal. */
export function isListed(value: unknown): value is BaseMessage {
  return isMessage(value) && value.type !== "remove";
}

/** The message of a value, in a sound form; undefined, and reported, for a value that is not a message. */
export function readMessage(value: unknown, report: (repair: Repair) => void): BaseMessage | undefined {
  const message = convertMessage(value);
  if (message === undefined) {
    report(createRepair({ kind: "value-refused", value }));
    return undefined;
  }
  const by = mendMessage(message);
  if (by !== message) report(createRepair({ kind: "message-mended", message, by }));
  return by;
}

/** One value or several, as a list; undefined and null count as none. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/**
 * The list with every message in a sound form; the same array if they all are.
 *
 * @throws InvalidMessageError for a value that is not a list, or a list with a value that is not a message.
 */
export function soundMessages(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  assertList(messages);
  if ([...messages].every(isMessage)) return messages;
  return [...messages].map((value, index) => {
    const message = isMessage(value) ? value : coerceMessage(value);
    if (message === undefined) throw new InvalidMessageError(`messages[${index}]`, value);
    return message;
  });
}

/** @throws InvalidMessageError for a value that is not a list. */
export function assertList(messages: unknown): void {
  if (!Array.isArray(messages)) throw new InvalidMessageError("messages", messages, "a list of messages");
}
