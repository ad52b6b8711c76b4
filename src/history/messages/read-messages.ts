import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { convertMessage } from "./coerce-message.js";
import { mendMessage } from "./message-shape.js";
import { REMOVE_ALL_MESSAGES } from "./remove-all-messages.js";
import { createRepair, type Repair } from "./repair.js";

/**
 * Reads any list as messages. A removal applies to the messages before it. A value that is not a message is
 * reported.
 */
export function readMessages(values: readonly unknown[], report: (repair: Repair) => void): BaseMessage[] {
  let messages: BaseMessage[] = [];
  for (const value of values) {
    const message = readMessage(value, report);
    if (message === undefined) continue;
    if (!RemoveMessage.isInstance(message)) messages.push(message);
    else if (message.id === REMOVE_ALL_MESSAGES) messages = [];
    else messages = messages.filter(({ id }) => id !== message.id);
  }
  return messages;
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
