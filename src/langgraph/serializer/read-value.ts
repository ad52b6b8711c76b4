/** Reads what LangGraph's serializer stores: messages, `undefined` and snapshots directly. */

import { isPlainObject } from "../../shared/is-plain-object.js";
import { type MessageClass, type MessageClasses, NAMESPACE } from "./message-classes.js";

/** A value that only LangGraph's serializer can read, and where it stands. */
export interface Unread {
  readonly holder: Holder;
  readonly key: string | number;
}

type Holder = Record<string | number, unknown>;

/** LangChain refuses a message that is nested deeper than 50. What is near it is left to LangChain. */
const DEEPEST_FIELD = 40;
/** LangGraph fails where the stack ends. What is deeper than this is left to it. */
const DEEPEST = 200;

/** Stands for a field that LangGraph has to read. */
const ODD = Symbol("odd");

/**
 * Reads the value at a key of an object in place. The value comes from `JSON.parse`, and nobody else has it.
 *
 * @returns The places below it that hold JSON still, because LangGraph has to read it.
 * @throws RangeError if the value is nested deeper than 200. Whatever the constructor of a message throws.
 */
export function readValue(holder: object, key: string, classes: MessageClasses): readonly Unread[] {
  const unread: Unread[] = [];
  read(holder as Holder, key, 0);
  return unread;

  function read(within: Holder, name: string | number, depth: number): void {
    const value = within[name];
    if (typeof value !== "object" || value === null) return;
    if (depth > DEEPEST) throw new RangeError(`Expected at most ${DEEPEST} levels.`);
    if (Array.isArray(value)) {
      const list = value as unknown as Holder;
      for (let index = 0; index < value.length; index += 1) read(list, index, depth + 1);
      return;
    }
    const record = value as Record<string, unknown>;
    // LangGraph would set the prototype.
    if (Object.hasOwn(record, "__proto__")) unread.push({ holder: within, key: name });
    else if (!Object.hasOwn(record, "lc"))
      for (const field of Object.keys(record)) read(record, field, depth + 1);
    else if (isUndefined(record)) within[name] = undefined;
    else if (isSnapshot(record)) {
      const snapshot = new classes.snapshot(record["value"]);
      within[name] = snapshot;
      read(snapshot as unknown as Holder, "value", depth + 1);
    } else {
      const message = readMessage(record, classes);
      if (message === undefined) unread.push({ holder: within, key: name });
      else within[name] = message;
    }
  }
}

function isUndefined(record: Record<string, unknown>): boolean {
  return record["lc"] === 2 && record["type"] === "undefined" && Object.keys(record).length === 2;
}

function isSnapshot(record: Record<string, unknown>): boolean {
  return (
    record["lc"] === 2 &&
    record["type"] === "delta_snapshot" &&
    Object.hasOwn(record, "value") &&
    Object.keys(record).length === 3
  );
}

function readMessage(record: Record<string, unknown>, classes: MessageClasses): object | undefined {
  const { lc, type, id, kwargs } = record;
  if (lc !== 1 || type !== "constructor" || Object.keys(record).length !== 4) return undefined;
  if (!Array.isArray(id) || id.length !== 3 || id[0] !== NAMESPACE[0] || id[1] !== NAMESPACE[1])
    return undefined;
  const messageClass = classes.byName.get(id[2]);
  if (messageClass === undefined || !isPlainObject(kwargs)) return undefined;
  const fields = readKwargs(kwargs, messageClass);
  return fields && new messageClass.create(fields);
}

/** The fields of a message. Most have them under their stored names, and then no other object is made. */
function readKwargs(
  kwargs: Record<string, unknown>,
  { fieldOf }: MessageClass,
): Record<string, unknown> | undefined {
  let isUsual = true;
  for (const key of Object.keys(kwargs)) {
    const field = fieldOf.get(key);
    const value = field === undefined ? ODD : readField(kwargs[key], 0);
    if (value === ODD) return undefined;
    if (value === undefined || field !== key) isUsual = false;
    else if (value !== kwargs[key]) kwargs[key] = value;
  }
  if (isUsual) return kwargs;
  const fields = Object.entries(kwargs).map(([key, value]) => [fieldOf.get(key), readField(value, 0)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/**
 * A value inside a message. LangGraph reads it, writes it again as plain JSON, and hands this to LangChain: keys with
 * `undefined` disappear, and in a list it becomes null.
 */
function readField(value: unknown, depth: number): unknown {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : ODD;
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST_FIELD) return ODD;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item = readField(value[index], depth + 1);
      if (item === ODD) return ODD;
      value[index] = item === undefined ? null : item;
    }
    return value;
  }
  const record = value as Record<string, unknown>;
  if (Object.hasOwn(record, "lc")) return isUndefined(record) ? undefined : ODD;
  if (Object.hasOwn(record, "__proto__") || Object.hasOwn(record, "__lc_escaped__")) return ODD;
  return readFields(record, depth);
}

function readFields(record: Record<string, unknown>, depth: number): unknown {
  const dropped = new Set<string>();
  for (const key of Object.keys(record)) {
    const value = readField(record[key], depth + 1);
    if (value === ODD) return ODD;
    if (value === undefined) dropped.add(key);
    else record[key] = value;
  }
  if (dropped.size === 0) return record;
  return Object.fromEntries(Object.entries(record).filter(([key]) => !dropped.has(key)));
}
