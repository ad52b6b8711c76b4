import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { coerceMessage } from "./coerce-message.js";
import { REMOVE_ALL_MESSAGES } from "./remove-all-messages.js";
import { createRepair, type Repair } from "./repair.js";

/**
 * Reads any list as messages. A removal applies to the messages before it. A value that is not a message is
 * reported.
 */
export function readMessages(values: readonly unknown[], report: (repair: Repair) => void): BaseMessage[] {
  let messages: BaseMessage[] = [];
  for (const value of values) {
    const message = coerceMessage(value);
    if (message === undefined) report(createRepair({ kind: "value-refused", value }));
    else if (!RemoveMessage.isInstance(message)) messages.push(message);
    else if (message.id === REMOVE_ALL_MESSAGES) messages = [];
    else messages = messages.filter(({ id }) => id !== message.id);
  }
  return messages;
}

/** One value or several, as a list; undefined and null count as none. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}
