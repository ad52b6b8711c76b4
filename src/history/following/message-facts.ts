/** Finds out whether a message was changed in place. */

import { isPlainObject } from "../../shared/is-plain-object.js";
import { safely } from "../../shared/safely.js";

const LIST = Symbol("list");
const OBJECT = Symbol("object");
/** What is nested deeper counts as one value. A message cannot be stored with it. */
const DEEPEST = 50;

/** Every value that a message holds, in order. Two messages with the same facts have the same content. */
export function messageFacts(message: unknown): readonly unknown[] {
  // What throws when it is read is never the same.
  return safely(() => readFacts(message), [Symbol("unreadable")]);
}

function readFacts(message: unknown): readonly unknown[] {
  const facts: unknown[] = [];
  if (typeof message !== "object" || message === null) return [message];
  for (const key of Object.keys(message)) {
    if (key === "lc_serializable" || key === "lc_namespace") continue;
    const value: unknown = Reflect.get(message, key);
    facts.push(key);
    // The values are those of the fields.
    if (key === "lc_kwargs") gather(value, facts, DEEPEST - 1);
    else gather(value, facts, 0);
  }
  return facts;
}

export function isSameFacts(before: readonly unknown[], now: readonly unknown[]): boolean {
  if (before.length !== now.length) return false;
  for (let index = 0; index < now.length; index += 1) if (before[index] !== now[index]) return false;
  return true;
}

function gather(value: unknown, facts: unknown[], depth: number): void {
  if (typeof value !== "object" || value === null || depth === DEEPEST) {
    facts.push(value);
  } else if (Array.isArray(value)) {
    facts.push(LIST, value.length);
    for (let index = 0; index < value.length; index += 1) gather(value[index], facts, depth + 1);
  } else if (isPlainObject(value)) {
    const keys = Object.keys(value);
    facts.push(OBJECT, keys.length);
    for (const key of keys) {
      facts.push(key);
      gather(Reflect.get(value, key), facts, depth + 1);
    }
  } else {
    facts.push(value);
  }
}
