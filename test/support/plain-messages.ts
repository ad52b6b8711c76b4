/** Messages as plain data, so that two lists are compared by content and not by identity. */

import type { BaseMessage } from "@langchain/core/messages";

const FIELDS =
  "type id name content role tool_calls invalid_tool_calls tool_call_id status artifact additional_kwargs response_metadata".split(
    " ",
  );

/** The class of a message, and the fields that are set. */
export function toPlain(message: BaseMessage): Record<string, unknown> {
  const fields = Object.entries(message);
  const known = FIELDS.map((name) => [name, fields.find(([field]) => field === name)?.[1]] as const);
  return {
    class: message.constructor.name,
    // The form that a checkpoint stores.
    serializedId: message.lc_kwargs["id"],
    ...Object.fromEntries(known.filter(([, value]) => value !== undefined)),
  };
}

export function toPlainList(messages: readonly BaseMessage[]): Record<string, unknown>[] {
  return messages.map(toPlain);
}

/** A deep copy of all visible parts of a value, class instances included. Cycles are cut. */
export function snapshot(value: unknown, seen: readonly unknown[] = []): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (seen.includes(value)) return "cycle";
  const path = [...seen, value];
  if (Array.isArray(value)) return value.map((part) => snapshot(part, path));
  return Object.fromEntries(
    Reflect.ownKeys(value).map((key) => {
      const descriptor = Object.getOwnPropertyDescriptor(value, key);
      const part = descriptor?.get === undefined ? snapshot(descriptor?.value, path) : "getter";
      return [String(key), part];
    }),
  );
}

/** Short labels for the messages of a list: `h` human, `a` AI, `t` result, `s` system, then the id. */
export function outline(messages: readonly BaseMessage[]): string {
  return messages.map((message) => message.id ?? `(${message.type})`).join(" ");
}
