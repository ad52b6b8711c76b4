/** Which values a checkpoint can store and read back. Any other makes every read of its thread fail. */

import { isPlainObject } from "../../shared/is-plain-object.js";
import { isRecord } from "../../shared/is-record.js";
import { isReadBack } from "../messages/read-back.js";

/** LangChain reads back no message with a field that is nested deeper than 48. A thread with one cannot be read. */
export const MOST_LEVELS = 40;

/** What a value must be that is nested too deep. */
export const DEPTH_DEMAND = `nested at most ${MOST_LEVELS} levels deep`;

/** Each completes the sentence "It must be …". */
const DEMANDS = {
  depth: DEPTH_DEMAND,
  form: "plain data, without LangChain's serialized form (an object with `lc`)",
  number: "plain data, without bigints",
  instance: "plain data, without a model, a tool or another part of LangChain",
  readable: "data that can be read",
} as const;

/**
 * What the value would have to be; undefined if it can be stored. A plain object that contains itself counts as nested
 * too deep. Never throws, and needs no deep stack.
 */
export function storageDemand(value: unknown, levels = MOST_LEVELS): string | undefined {
  // A checkpoint with one is stored as an error text, without the thread.
  if (typeof value === "bigint") return DEMANDS.number;
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return demandOf(value, levels, new Map());
  } catch {
    return DEMANDS.readable;
  }
}

/**
 * @param isOpen For each object met so far: whether the value is inside it.
 * @param holder The object that has the value.
 */
function demandOf(
  value: unknown,
  levels: number,
  isOpen: Map<object, boolean>,
  holder?: object,
): string | undefined {
  if (typeof value === "bigint") return DEMANDS.number;
  if (typeof value !== "object" || value === null) return undefined;
  if (ArrayBuffer.isView(value))
    return typeof Reflect.get(value, 0) === "bigint" ? DEMANDS.number : undefined;
  const known = isOpen.get(value);
  // Checkpoints cut the cycles of other objects, such as clients, if they can write to them.
  const isUncut = Array.isArray(value) || isPlainObject(value) || Object.isFrozen(holder);
  if (known !== undefined) return known && isUncut ? DEMANDS.depth : undefined;
  if (levels <= 0) return DEMANDS.depth;
  if (isSerializedForm(value)) return DEMANDS.form;
  if ("lc_serializable" in value && !isReadBack(value)) return DEMANDS.instance;
  isOpen.set(value, true);
  for (const item of [...Object.values(value), ...jsonOf(value)]) {
    const demand = demandOf(item, levels - 1, isOpen, value);
    if (demand !== undefined) return demand;
  }
  isOpen.set(value, false);
  return undefined;
}
/** What an object says is its JSON. A checkpoint stores that instead of its fields. */
function jsonOf(value: object): unknown[] {
  const toJSON: unknown = "lc_serializable" in value ? undefined : Reflect.get(value, "toJSON");
  return typeof toJSON === "function" ? [Reflect.apply(toJSON, value, [])] : [];
}

/** A checkpoint would make an instance of the named class from it, or fail. */
export function isSerializedForm(value: unknown): boolean {
  if (!isRecord(value) || !Object.hasOwn(value, "lc")) return false;
  return (value["lc"] === 1 || value["lc"] === 2) && typeof value["type"] === "string";
}
