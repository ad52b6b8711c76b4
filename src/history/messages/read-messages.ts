import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { coerceMessage } from "./coerce-message.js";
import { REMOVE_ALL_MESSAGES } from "./remove-all-messages.js";
import { createRepair, type Repair } from "./repair.js";

/**
 * Reads any list as messages. A removal applies to the messages before it. A value that is not a message is
 * reported.
 */
export function readMessages(values: readonly unknown[], report: (repair: Repair) => void): BaseMessage[] {
  const messages: (BaseMessage | undefined)[] = [];
  const places = new Map<string | undefined, number[]>();
  for (const value of values) {
    const message = coerceMessage(value);
    if (message === undefined) {
      report(createRepair({ kind: "value-refused", value }));
    } else if (!RemoveMessage.isInstance(message)) {
      const sameId = places.get(message.id);
      if (sameId === undefined) places.set(message.id, [messages.length]);
      else sameId.push(messages.length);
      messages.push(message);
    } else if (message.id === REMOVE_ALL_MESSAGES) {
      messages.length = 0;
      places.clear();
    } else {
      for (const place of places.get(message.id) ?? []) messages[place] = undefined;
      places.delete(message.id);
    }
  }
  return messages.filter((message) => message !== undefined);
}

/** One value or several, as a list; undefined and null count as none. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}
