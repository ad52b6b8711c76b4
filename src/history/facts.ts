/**
 * Notices what was changed in place. LangGraph, LangChain and nodes write ids, names and metadata into messages. So what
 * was made from a message holds only while its facts are the same: every value that it has, in order. Comparing them
 * takes one step for each value, however long its texts are.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { safely } from "../shared/json.js";
import { isPlainObject } from "../shared/values.js";

const LIST = Symbol("list");
const OBJECT = Symbol("object");
/** What is nested deeper counts as one value. LangChain refuses to read a message that is nested deeper than 50. */
export const DEEPEST_FACT = 40;

/** Two messages with the same facts have the same content. */
export function factsOf(message: BaseMessage): readonly unknown[] {
  const facts: unknown[] = [];
  // What throws when it is read never counts as the same.
  return safely(() => readFacts(message, facts), false) ? facts : [Symbol("unreadable")];
}

function readFacts(message: object, facts: unknown[]): true {
  // The key of a `for in` loop is the fastest way to read a value.
  for (const key in Object(message)) {
    if (key === "lc_serializable" || key === "lc_namespace") continue;
    facts.push(key);
    const value: unknown = message[key as never];
    if (key !== "lc_kwargs") gatherFacts(value, facts);
    else gatherOthers(Object(value), message, facts);
  }
  return true;
}

/** What the constructor received. Most values equal the fields'. */
function gatherOthers(kwargs: object, message: object, facts: unknown[]): void {
  for (const key in kwargs) {
    facts.push(key);
    if (kwargs[key as never] !== message[key as never]) gatherFacts(kwargs[key as never], facts);
  }
}

/**
 * Adds all that a value holds to the facts.
 *
 * @returns Whether the value is only what JSON knows, and `undefined`, and LangChain and LangGraph write it like that.
 */
export function gatherFacts(value: unknown, facts: unknown[], depth = 0): boolean {
  if (typeof value !== "object" || value === null) {
    facts.push(value);
    return typeof value !== "function" && typeof value !== "symbol" && typeof value !== "bigint";
  }
  const isList = Array.isArray(value);
  if (depth > DEEPEST_FACT || !(isList || isPlainObject(value))) {
    facts.push(value);
    return false;
  }
  let isPlain = !hasOwnForm(value);
  if (isList) {
    facts.push(LIST, value.length);
    for (let index = 0; index < value.length; index += 1)
      isPlain = gatherFacts(value[index], facts, depth + 1) && isPlain;
    return isPlain;
  }
  const keys = Object.keys(value);
  facts.push(OBJECT, keys.length);
  for (const key of keys) {
    facts.push(key);
    isPlain = gatherFacts(value[key as never], facts, depth + 1) && isPlain;
  }
  return isPlain;
}

/** Whether LangChain, LangGraph or `JSON.stringify` writes an object in another form than its fields. */
function hasOwnForm(value: object): boolean {
  return (
    "lc" in value ||
    "lg_name" in value ||
    "__lc_escaped__" in value ||
    Reflect.get(value, "toJSON") !== undefined ||
    Object.getPrototypeOf(value) === null ||
    Object.hasOwn(value, "__proto__")
  );
}

export function isSame(before: readonly unknown[], now: readonly unknown[]): boolean {
  if (before.length !== now.length) return false;
  for (let index = 0; index < now.length; index += 1) if (!Object.is(before[index], now[index])) return false;
  return true;
}
