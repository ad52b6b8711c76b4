/** Which values a checkpoint can store and read back. Any other makes every read of its thread fail. */

import { safely } from "../shared/json.js";
import { isPlainObject, isRecord } from "../shared/values.js";

/** LangChain reads back no message with a field that is nested deeper than 48. A thread with one cannot be read. */
export const MOST_LEVELS = 40;

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

/*
 * What a checkpoint can store of a value that it cannot store as it is.
 */

/**
 * The value with texts in place of the parts that cannot be stored: a bigint becomes its digits, a part of LangChain
 * its JSON. If that is not enough, everything below the second level that cannot be stored becomes its JSON.
 */
export function storableCopy(value: unknown): unknown {
  try {
    return flatten(withTexts(value, MOST_LEVELS, new Map()));
  } catch {
    // A part cannot be read.
    return jsonText(value);
  }
}

/** The JSON of a value, with bigints as texts. */
export function jsonText(value: unknown): string {
  const json = safely(
    () => JSON.stringify(value, (_, item) => (isBigint(item) ? String(item) : item)),
    undefined,
  );
  return json ?? "(a value that cannot be written as JSON)";
}

function isBigint(value: unknown): value is bigint {
  return typeof value === "bigint";
}

/** @param known The copies of objects that were met before. An object that contains itself is not copied. */
function withTexts(value: unknown, levels: number, known: Map<object, unknown>): unknown {
  if (isBigint(value)) return String(value);
  if (typeof value !== "object" || value === null || levels === 0) return value;
  if (known.has(value)) return known.get(value);
  known.set(value, value);
  const copy = copyOf(value, (item) => withTexts(item, levels - 1, known));
  known.set(value, copy);
  return copy;
}

/** An object of a class is copied only if it has to be. */
function copyOf(value: object, copyItem: (item: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(copyItem);
  if (storageDemand(value) === undefined) return value;
  if ("lc_serializable" in value || "toJSON" in value) return jsonText(value);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copyItem(item)]));
}

function flatten(value: unknown, levels = 2): unknown {
  if (storageDemand(value, MOST_LEVELS - 2 + levels) === undefined) return value;
  if (levels === 0) return jsonText(value);
  if (Array.isArray(value)) return value.map((item) => flatten(item, levels - 1));
  const fields = Object.entries(Object(value)).filter(([name]) => name !== "lc" || !isSerializedForm(value));
  return Object.fromEntries(fields.map(([name, item]) => [name, flatten(item, levels - 1)]));
}

/*
 * Recognises the messages that hold plain data only. Nearly all do, and the reducer reads every message of a list that
 * it meets for the first time. So nothing is allocated here.
 */

/** What is nested deeper is left to `storageDemand`. */
const MOST_NESTED = 8;
/** Objects of another realm are left to it too. */
const PLAIN: unknown = Object.getPrototypeOf({});

/** More values than a message holds. An object that holds itself many times would be read for ever. */
const MOST_VALUES = 1_000_000;

/**
 * Whether every field of a message can be stored, and what its constructor received too. False says nothing: the message
 * holds very many values, or one of another kind. Never throws.
 */
export function hasPlainFields(message: object): boolean {
  try {
    return roomAfterFields(message, MOST_VALUES) >= 0;
  } catch {
    // Reading a value threw.
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
function roomAfterKwargs(kwargs: object, message: object, room: number): number {
  let left = room;
  for (const key in kwargs) {
    const value: unknown = kwargs[key as never];
    if (typeof value === "string" || value === message[key as never]) continue;
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

/** The classes of LangChain's messages that a checkpoint can read back. */
const READ_BACK: ReadonlySet<string> = new Set([
  "AIMessage",
  "HumanMessage",
  "SystemMessage",
  "ToolMessage",
  "FunctionMessage",
  "ChatMessage",
  "RemoveMessage",
]);

const PLACE = "langchain_core/messages";

/**
 * Whether a checkpoint can make this instance of LangChain again. It finds the class by its name, so it cannot find a
 * subclass that a program has made, and a thread with one cannot be read.
 */
export function isReadBack(instance: object): boolean {
  const kind: object | null = Object.getPrototypeOf(instance);
  if (kind === null || Object.hasOwn(instance, "lc_id")) return isNamedInPlace(instance);
  const isKnown = known.get(kind) ?? isNamedInPlace(instance);
  known.set(kind, isKnown);
  return isKnown;
}

/** By prototype: all instances of a class have one name, and every message that is read asks for it. */
const known = new WeakMap<object, boolean>();

function isNamedInPlace(instance: object): boolean {
  const id: unknown = Reflect.get(instance, "lc_id");
  return (
    Array.isArray(id) &&
    id.slice(0, -1).join("/") === PLACE &&
    READ_BACK.has(String(id.at(-1)).replace(/Chunk$/, ""))
  );
}
