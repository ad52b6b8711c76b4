/** Which values a checkpoint can store and read back. Any other value makes every read of its thread fail. */

import { safely } from "../shared/json.js";
import { isPlainObject, isRecord, madeOnce } from "../shared/values.js";

/** LangChain cannot read back a message with a field nested deeper than 48. A thread with one is unreadable. */
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
  if (!mayDemand(value)) return undefined;
  try {
    return demandOf(value, { levels, path: [], deep: undefined });
  } catch {
    return DEMANDS.readable;
  }
}

/** Texts, numbers and functions can always be stored or left out. */
export function mayDemand(value: unknown): value is object | bigint {
  return (typeof value === "object" && value !== null) || typeof value === "bigint";
}

interface Walk {
  readonly levels: number;
  /** The objects around the value. */
  readonly path: object[];
  /**
   * The objects below the first levels that were read, with each one's deepest level. Few values are nested so deep.
   */
  deep: Map<object, number> | undefined;
}

const FIRST_LEVELS = 4;

function demandOf(value: unknown, walk: Walk): string | undefined {
  if (!mayDemand(value)) return undefined;
  // A checkpoint with one is stored as an error text, without the thread.
  if (typeof value === "bigint") return DEMANDS.number;
  const { levels, path } = walk;
  if (path.includes(value)) return isUncut(value, path.at(-1)) ? DEMANDS.depth : undefined;
  if (path.length === levels && !ArrayBuffer.isView(value)) return DEMANDS.depth;
  if (path.length > FIRST_LEVELS) {
    walk.deep ??= new Map();
    if ((walk.deep.get(value) ?? 0) >= path.length) return undefined;
    walk.deep.set(value, path.length);
  }
  path.push(value);
  const demand = demandOfFields(value, walk);
  path.pop();
  return demand;
}

function demandOfFields(value: object, walk: Walk): string | undefined {
  // Read by name, so that the engine knows the values' shapes here.
  const { lc, lc_serializable, toJSON } = value as Readonly<Record<string, unknown>>;
  if (lc !== undefined && isSerializedForm(value)) return DEMANDS.form;
  if (lc_serializable !== undefined && !isReadBack(value)) return DEMANDS.instance;
  if (ArrayBuffer.isView(value)) return demandOf(Reflect.get(value, 0), walk);
  // The key of a `for in` loop is the fastest way to read a value.
  for (const name in value) {
    const demand = demandOf(value[name as never], walk);
    if (demand !== undefined) return demand;
  }
  // A checkpoint stores what an object's `toJSON` returns, instead of its fields.
  if (typeof toJSON !== "function" || lc_serializable !== undefined) return undefined;
  return demandOf(Reflect.apply(toJSON, value, []), walk);
}

/** Checkpoints cut the cycles of other objects, such as clients, if they can write to them. */
function isUncut(item: object, holder: object | undefined): boolean {
  return Array.isArray(item) || isPlainObject(item) || Object.isFrozen(holder);
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
 * The value with text for each part that cannot be stored: a bigint becomes its digits, a LangChain part its JSON. If
 * that is not enough, everything below the second level that cannot be stored becomes its JSON.
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
  const json = safely(() =>
    JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item)),
  );
  return json ?? "(a value that cannot be written as JSON)";
}

/** @param known The copies of objects met before. An object that contains itself is not copied. */
function withTexts(value: unknown, levels: number, known: Map<object, unknown>): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || levels === 0) return value;
  if (known.has(value)) return known.get(value);
  known.set(value, value);
  const copy = copyOf(value, (item) => withTexts(item, levels - 1, known));
  known.set(value, copy);
  return copy;
}

/** A class instance is copied only if necessary. */
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
 * Whether a checkpoint can make this LangChain instance again. It finds the class by name, so it cannot find a
 * program's own subclass, and a thread with one is unreadable.
 */
export function isReadBack(instance: object): boolean {
  const kind: object | null = Object.getPrototypeOf(instance);
  if (kind === null || Object.hasOwn(instance, "lc_id")) return isNamedInPlace(instance);
  return madeOnce(known, kind, () => isNamedInPlace(instance));
}

/** By prototype: a class's instances share one name, and this runs for every message that is read. */
const known = new WeakMap<object, boolean>();

function isNamedInPlace(instance: object): boolean {
  const id: unknown = Reflect.get(instance, "lc_id");
  return (
    Array.isArray(id) &&
    id.slice(0, -1).join("/") === PLACE &&
    READ_BACK.has(String(id.at(-1)).replace(/Chunk$/, ""))
  );
}
