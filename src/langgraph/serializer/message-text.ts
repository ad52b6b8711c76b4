/** The stored JSON of one message, made once as long as the message stays the same. */

import { isPlainObject } from "../../shared/is-plain-object.js";
import { type MessageClass, NAMESPACE, UNDEFINED } from "./message-classes.js";

/** The JSON of a message. It is undefined if only LangGraph's serializer knows how to write the message. */
export type MessageText = (message: object, messageClass: MessageClass) => string | undefined;

interface Known {
  /** Every value that the text depends on, in order. */
  readonly facts: readonly unknown[];
  readonly text: string;
}

const UNDEFINED_TEXT = JSON.stringify(UNDEFINED);
/** LangChain refuses to read a message that is nested deeper than 50. LangGraph writes it. */
const DEEPEST_FIELD = 40;
const LIST = Symbol("list");
const OBJECT = Symbol("object");

/**
 * Messages can be changed in place: LangGraph and LangChain write ids, names and metadata into them, and so can a node.
 * So the values of a message are compared with those that its text was made from. The comparison costs one step for
 * each value, however long its texts are.
 */
export function createMessageText(): MessageText {
  const known = new WeakMap<object, Known>();
  const facts: unknown[] = [];
  return (message, messageClass) => {
    facts.length = 0;
    const fields = fieldsOf(message, messageClass, facts);
    if (fields === undefined) return undefined;
    const before = known.get(message);
    if (before !== undefined && isSame(before.facts, facts)) return before.text;
    const text = compose(fields, messageClass, facts.includes(undefined));
    known.set(message, { facts: facts.slice(), text });
    return text;
  };
}

/** The fields with their stored names, and in `facts` all that they hold. It is undefined for an odd message. */
function fieldsOf(
  message: object,
  messageClass: MessageClass,
  facts: unknown[],
): readonly (readonly [key: string, value: unknown])[] | undefined {
  const { lc_serializable, lc_namespace, lc_kwargs, toJSON } = message as Record<string, unknown>;
  const isUsual = lc_serializable === true && toJSON === messageClass.toJSON && isNamespace(lc_namespace);
  if (!isUsual || !isPlainObject(lc_kwargs)) return undefined;
  const fields: (readonly [string, unknown])[] = [];
  for (const field of Object.keys(lc_kwargs)) {
    const key = messageClass.keyOf.get(field);
    if (key === undefined || (key !== field && Object.hasOwn(lc_kwargs, key))) return undefined;
    const given = lc_kwargs[field];
    const value: unknown = field in message ? Reflect.get(message, field) : given;
    facts.push(field);
    // LangGraph also visits what is not stored, and fails if it is too deep.
    if (!gather(value, facts, 0) || (value !== given && !gather(given, facts, 0))) return undefined;
    fields.push([key, value]);
  }
  return fields;
}

function isNamespace(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value[0] === NAMESPACE[0] && value[1] === NAMESPACE[1];
}

/**
 * Adds all that a value holds to the facts, so that two values with the same facts have the same JSON.
 *
 * @returns False for a value that is not plain JSON or `undefined`, or that LangChain or LangGraph writes in another way.
 */
function gather(value: unknown, facts: unknown[], depth: number): boolean {
  if (typeof value !== "object" || value === null) {
    facts.push(value);
    return typeof value !== "function" && typeof value !== "symbol" && typeof value !== "bigint";
  }
  if (depth > DEEPEST_FIELD || Reflect.get(value, "toJSON") !== undefined) return false;
  if (Array.isArray(value)) {
    facts.push(LIST, value.length);
    for (let index = 0; index < value.length; index += 1)
      if (!gather(value[index], facts, depth + 1)) return false;
    return !("lg_name" in value);
  }
  if (!isPlainObject(value) || Object.getPrototypeOf(value) === null) return false;
  const keys = Object.keys(value);
  facts.push(OBJECT, keys.length);
  for (const key of keys) {
    facts.push(key);
    if (!gather(value[key], facts, depth + 1)) return false;
  }
  return !(
    "lc" in value ||
    "lg_name" in value ||
    "__lc_escaped__" in value ||
    Object.hasOwn(value, "__proto__")
  );
}

function isSame(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before.length === now.length && before.every((fact, index) => fact === now[index]);
}

function compose(
  fields: readonly (readonly [key: string, value: unknown])[],
  { head }: MessageClass,
  hasUndefined: boolean,
): string {
  const replace = hasUndefined ? replaceUndefined : undefined;
  const members = fields.map(([key, value]) =>
    value === undefined ? `"${key}":${UNDEFINED_TEXT}` : `"${key}":${JSON.stringify(value, replace)}`,
  );
  return `${head}${members.join()}}}`;
}

function replaceUndefined(_key: string, value: unknown): unknown {
  return value === undefined ? UNDEFINED : value;
}
