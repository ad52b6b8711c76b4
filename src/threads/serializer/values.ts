/** Reads and writes stored values as LangGraph's serializer does, in less time. */

import { Send } from "@langchain/langgraph";
import { DEEPEST_FACT, gatherFacts, isSame } from "../../history/facts.js";
import { isPlainObject, pickFields } from "../../shared/values.js";
import { type MessageClass, type MessageClasses, NAMESPACE, UNDEFINED } from "./message-classes.js";

/*
 * A message's stored JSON, made only once while the message stays the same.
 */

/**
 * A comma and a message's JSON, because most messages follow another in a list. Undefined if only LangGraph's
 * serializer can write the message.
 */
type MessageBytes = (message: object, messageClass: MessageClass) => Uint8Array | undefined;

interface Known {
  /** Every value that the bytes depend on, in order. */
  readonly facts: readonly unknown[];
  readonly bytes: Uint8Array;
}

const UNDEFINED_TEXT = JSON.stringify(UNDEFINED);

/** A message can change in place, so its values are compared with those that its bytes were made from. */
export function createMessageBytes(): MessageBytes {
  const known = new WeakMap<object, Known>();
  const facts: unknown[] = [];
  return (message, messageClass) => {
    facts.length = 0;
    const { lc_kwargs } = message as Record<string, unknown>;
    if (!isPlainObject(lc_kwargs) || !isUsual(message, messageClass)) return undefined;
    for (const field in lc_kwargs) {
      const given = lc_kwargs[field];
      const value = heldValue(message, field, given);
      facts.push(field);
      // LangGraph also visits what is not stored, and fails if that is too deep.
      if (!gatherFacts(value, facts) || (value !== given && !gatherFacts(given, facts))) return undefined;
    }
    const before = known.get(message);
    if (before !== undefined && isSame(before.facts, facts)) return before.bytes;
    const text = compose(message, lc_kwargs, messageClass, facts.includes(undefined));
    if (text === undefined) return undefined;
    const bytes = Buffer.from(`,${text}`);
    known.set(message, { facts: facts.slice(), bytes });
    return bytes;
  };
}

function isUsual(message: object, { toJSON }: MessageClass): boolean {
  const { lc_serializable, lc_namespace, toJSON: own } = message as Record<string, unknown>;
  return lc_serializable === true && own === toJSON && isNamespace(lc_namespace, 2);
}

/** What the message now holds in a field that its constructor was given. */
function heldValue(message: object, field: string, given: unknown): unknown {
  const value: unknown = message[field as never];
  return value === undefined && !(field in message) ? given : value;
}

/** @param length How many names there are: the namespace's, and perhaps a class's. */
function isNamespace(value: unknown, length: number): boolean {
  return (
    Array.isArray(value) && value.length === length && value[0] === NAMESPACE[0] && value[1] === NAMESPACE[1]
  );
}

/** Undefined if two fields share a stored name, or one has none. */
function compose(
  message: object,
  given: Readonly<Record<string, unknown>>,
  { head, keyOf }: MessageClass,
  hasUndefined: boolean,
): string | undefined {
  const mark = (_key: string, value: unknown) => (value === undefined ? UNDEFINED : value);
  const replace = hasUndefined ? mark : undefined;
  let text = head;
  let before = "";
  for (const field of Object.keys(given)) {
    const key = keyOf.get(field);
    if (key === undefined || (key !== field && Object.hasOwn(given, key))) return undefined;
    const value = heldValue(message, field, given[field]);
    const json = value === undefined ? UNDEFINED_TEXT : JSON.stringify(value, replace);
    text += `${before}"${key}":${json}`;
    before = ",";
  }
  return `${text}}}`;
}

/*
 * Reads what LangGraph's serializer stores: messages, `undefined` and snapshots directly.
 */

/** A value that only LangGraph's serializer can read, and where it stands. */
export interface Unread {
  readonly holder: Holder;
  readonly key: string | number;
}

type Holder = Record<string | number, unknown>;
/** LangGraph fails where the stack ends. Anything deeper than this is left to it. */
const DEEPEST = 200;

/** Stands for a field that LangGraph has to read. */
const ODD = Symbol("odd");

/**
 * Reads the value at an object's key in place. The value comes from `JSON.parse`, and nobody else has it.
 *
 * @returns The places below it that still hold JSON, because LangGraph must read it.
 * @throws RangeError if the value is nested deeper than 200. Whatever a message's constructor throws.
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
  const messageClass = Array.isArray(id) && isNamespace(id, 3) ? classes.byName.get(id[2]) : undefined;
  if (messageClass === undefined || !isPlainObject(kwargs)) return undefined;
  const { create: Message, fieldOf } = messageClass;
  let isRenamed = false;
  for (const key in kwargs) {
    const field = fieldOf.get(key);
    if (field === undefined) return undefined;
    if (field !== key) isRenamed = true;
  }
  const fields = readField(kwargs, -1);
  if (fields === ODD) return undefined;
  // Most messages have all fields under their stored names, and need no other object.
  if (!isRenamed) return new Message(fields as Holder);
  const renamed = Object.entries(fields as Holder).map(([key, value]) => [fieldOf.get(key), value]);
  return new Message(Object.fromEntries(renamed));
}

/**
 * A value inside a message. LangGraph reads it, writes it again as plain JSON, and hands that to LangChain: keys with
 * `undefined` disappear, and in a list it becomes null.
 */
function readField(value: unknown, depth: number): unknown {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : ODD;
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST_FACT) return ODD;
  const holder = value as Record<string, unknown>;
  const isList = Array.isArray(value);
  let hasDropped = false;
  // A `for in` loop makes no list of the keys. What comes from `JSON.parse` has no others.
  for (const key in holder) {
    if (!isList && key === "lc") return isUndefined(holder) ? undefined : ODD;
    if (!isList && (key === "__proto__" || key === "__lc_escaped__")) return ODD;
    const given = holder[key];
    if (typeof given === "string") continue;
    const field = readField(given, depth + 1);
    if (field === ODD) return ODD;
    if (field === undefined && !isList) hasDropped = true;
    if (field !== given) holder[key] = field === undefined && isList ? null : field;
  }
  if (!hasDropped) return holder;
  return pickFields(holder, (_name, field) => field !== undefined);
}

/*
 * Writes what LangGraph's serializer writes: plain values, messages, snapshots and sends directly.
 */

/** A part of the JSON. What LangGraph must write comes as a promise; it is undefined if LangGraph cannot write it. */
export type Piece = string | Uint8Array | Promise<string | undefined>;

export interface Writer {
  readonly classes: MessageClasses;
  readonly messageBytes: MessageBytes;
  /** Writes an object's member with LangGraph's serializer. Contract: does not reject. */
  readonly writeMember: (key: string, value: unknown) => Promise<string | undefined>;
}

const SEND_PROTOTYPE: unknown = Object.getPrototypeOf(new Send("node", undefined));

/**
 * The pieces say what the value is at the time of the call, even if it changes before a promise settles.
 *
 * @throws RangeError if the value is nested deeper than 200, or has a cycle. Whatever a getter of the value throws.
 */
export function writeValue(data: unknown, { classes, messageBytes, writeMember }: Writer): readonly Piece[] {
  const snapshotPrototype: unknown = Object.getPrototypeOf(new classes.snapshot(undefined));
  const pieces: Piece[] = [];
  let text = "";
  write(data, "", 0);
  pieces.push(text);
  return pieces;

  function write(value: unknown, key: string, depth: number): void {
    if (value === undefined) text += UNDEFINED_TEXT;
    else if (
      value === null ||
      (typeof value !== "object" && typeof value !== "bigint" && typeof value !== "function")
    )
      text += JSON.stringify(value);
    else if (depth > DEEPEST) throw tooDeep();
    else if (!writeDirectly(value, depth)) {
      assertShallow(value, depth);
      pieces.push(text, writeMember(key, value));
      text = "";
    }
  }

  /** @returns False, and writes nothing, if LangGraph must write the value. */
  function writeDirectly(value: object | bigint, depth: number): boolean {
    if (typeof value !== "object") return false;
    const prototype: object | null = Object.getPrototypeOf(value);
    const messageClass = prototype === null ? undefined : classes.byPrototype.get(prototype);
    if (messageClass !== undefined) {
      const message = messageBytes(value, messageClass);
      if (message === undefined) return false;
      const isNext = text === ",";
      if (!isNext) pieces.push(text);
      pieces.push(isNext ? message : message.subarray(1));
      text = "";
      return true;
    }
    const { toJSON, lg_name } = value as Record<string, unknown>;
    if (prototype === SEND_PROTOTYPE) {
      if (lg_name !== "Send" || Object.hasOwn(value, "toJSON")) return false;
      const { node, args, timeout } = value as Send;
      writeMembers({ node, args, ...(timeout !== undefined && { timeout }) }, depth);
    } else if (typeof toJSON === "function" || lg_name === "Send") return false;
    else if (Array.isArray(value)) writeItems(value, depth);
    else if (prototype === snapshotPrototype)
      writeMembers({ lc: 2, type: "delta_snapshot", value: Reflect.get(value, "value") }, depth);
    else if (isPlainObject(value) && prototype !== null) writeMembers(value, depth);
    else return false;
    return true;
  }

  function writeItems(items: readonly unknown[], depth: number): void {
    text += "[";
    for (let index = 0; index < items.length; index += 1) {
      if (index > 0) text += ",";
      const item = items[index];
      if (isLeftOut(item)) text += "null";
      else write(item, String(index), depth + 1);
    }
    text += "]";
  }

  function writeMembers(members: Readonly<Record<string, unknown>>, depth: number): void {
    let before = "{";
    for (const key of Object.keys(members)) {
      const value = members[key];
      if (isLeftOut(value)) continue;
      text += `${before}${JSON.stringify(key)}:`;
      before = ",";
      write(value, key, depth + 1);
    }
    text += before === "{" ? "{}" : "}";
  }
}

/** What JSON cannot say: it is left out of objects, and becomes null in lists. */
function isLeftOut(value: unknown): boolean {
  if (typeof value === "function") return !("toJSON" in value || "lg_name" in value);
  return typeof value === "symbol";
}

/** LangGraph cuts a value's cycles from its root. A part that is written alone must have none. */
function assertShallow(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > DEEPEST) throw tooDeep();
  for (const key of Object.keys(value)) assertShallow(Reflect.get(value, key), depth + 1);
}

function tooDeep(): RangeError {
  return new RangeError(`Expected at most ${DEEPEST} levels, and no cycle.`);
}
