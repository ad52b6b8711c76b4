/**
 * Recognises the messages that hold plain data only. Nearly all do, and the reducer reads every message of a list that
 * it meets for the first time. So nothing is allocated here.
 */

import type { AIMessage } from "@langchain/core/messages";

/** What is nested deeper is left to `storageDemand`. */
const MOST_NESTED = 8;
/** Objects of another realm are left to it too. */
const PLAIN: unknown = Object.getPrototypeOf({});

/**
 * Whether every field of a message can be stored, and what its constructor received too. False says nothing: the message
 * holds more than `most` values, or one of another kind. Never throws.
 */
export function hasPlainFields(message: object, most: number): boolean {
  try {
    return roomAfterFields(message, most) >= 0;
  } catch {
    // Reading a value threw.
    return false;
  }
}

/** Whether an object is plain data of at most this many values. False says nothing, as above. Never throws. */
export function isPlainData(value: object, most: number): boolean {
  try {
    return roomAfter(value, MOST_NESTED, most) >= 0;
  } catch {
    return false;
  }
}

function roomAfterFields(message: object, most: number): number {
  let room = most;
  // Reading a value by the key of a `for in` loop is faster than any other way.
  for (const key in message) {
    const value: unknown = message[key as never];
    // Most values are so, and are recognised faster alone.
    if (value === undefined || value === true || typeof value === "string") continue;
    if (typeof value !== "object") {
      if (typeof value === "bigint") return -1;
      continue;
    }
    if (value === null || key === "lc_namespace") continue;
    room = key === "lc_kwargs" ? roomAfterKwargs(value, message, room) : roomAfter(value, MOST_NESTED, room);
    if (room < 0) return room;
  }
  return room;
}

/** Most values that the constructor received are those of the fields. */
function roomAfterKwargs(kwargs: object, message: Partial<AIMessage>, room: number): number {
  const { content, additional_kwargs, response_metadata, tool_calls, invalid_tool_calls } = message;
  let left = room;
  for (const key in kwargs) {
    const value: unknown = kwargs[key as never];
    // Compared one by one, because a look-up by key costs more.
    if (typeof value === "string" || value === undefined || value === additional_kwargs) continue;
    if (value === response_metadata || value === tool_calls || value === invalid_tool_calls) continue;
    if (value === content || value === message[key as never]) continue;
    left = roomAfterItem(value, MOST_NESTED, left);
    if (left < 0) return left;
  }
  return left;
}

/** How many more values can be read after this one. Less than 0 if it is not known to be plain data. */
function roomAfter(value: object, levels: number, room: number): number {
  if (levels === 0) return -1;
  let left = room;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left >= 0; index += 1)
      left = roomAfterItem(value[index], levels, left);
    return left;
  }
  // Read by its name, and first: the engine then knows the shapes of the values here, and need not ask for the prototype.
  if ((value as { lc?: unknown }).lc !== undefined) return -1;
  if (Object.getPrototypeOf(value) !== PLAIN) return -1;
  for (const key in value) {
    if (key === "lc_serializable") return -1;
    left = roomAfterItem(value[key as never], levels, left);
    if (left < 0) return left;
  }
  return left;
}

function roomAfterItem(item: unknown, levels: number, room: number): number {
  if (typeof item === "string" || typeof item === "number") return room - 1;
  if (typeof item === "object" && item !== null) return roomAfter(item, levels - 1, room - 1);
  // A function can be `toJSON`.
  return typeof item === "bigint" || typeof item === "function" ? -1 : room - 1;
}
