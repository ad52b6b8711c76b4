/** Finds out whether a message was changed in place. */

import { isPlainObject } from "../../shared/is-plain-object.js";
import { safely } from "../../shared/safely.js";

const LIST = Symbol("list");
const OBJECT = Symbol("object");
const END = Symbol("end");
/** What is nested deeper counts as one value. A message cannot be stored with it. */
const DEEPEST = 50;

/** Takes one value after the other. */
interface Facts {
  push(fact: unknown): unknown;
}

/** Every value that a message holds, in order. Two messages with the same facts have the same content. */
export function messageFacts(message: unknown): readonly unknown[] {
  const facts: unknown[] = [];
  // What throws when it is read is never the same.
  return safely(() => readFacts(message, facts), false) ? facts : [Symbol("unreadable")];
}

/** Whether a message has these facts. It is asked often, so no list is made. */
export function hasFacts(message: unknown, facts: readonly unknown[]): boolean {
  const comparison = new Comparison(facts);
  return safely(() => readFacts(message, comparison), false) && comparison.isSame;
}

class Comparison implements Facts {
  readonly #expected: readonly unknown[];
  #count = 0;
  #differs = false;

  constructor(expected: readonly unknown[]) {
    this.#expected = expected;
  }

  get isSame(): boolean {
    return !this.#differs && this.#count === this.#expected.length;
  }

  push(fact: unknown): void {
    if (!Object.is(fact, this.#expected[this.#count])) this.#differs = true;
    this.#count += 1;
  }
}

function readFacts(message: unknown, facts: Facts): true {
  if (typeof message !== "object" || message === null) {
    facts.push(message);
    return true;
  }
  // Reading a value by the key of a `for in` loop is faster than any other way.
  for (const key in message) {
    if (key === "lc_serializable" || key === "lc_namespace") continue;
    const value: unknown = message[key as never];
    facts.push(key);
    // The values are those of the fields.
    if (key === "lc_kwargs") gather(value, facts, DEEPEST - 1);
    else gather(value, facts, 0);
  }
  return true;
}

function gather(value: unknown, facts: Facts, depth: number): void {
  if (typeof value !== "object" || value === null || depth === DEEPEST) {
    facts.push(value);
  } else if (Array.isArray(value)) {
    facts.push(LIST);
    facts.push(value.length);
    for (let index = 0; index < value.length; index += 1) gather(value[index], facts, depth + 1);
  } else if (isPlainObject(value)) {
    facts.push(OBJECT);
    for (const key in value) {
      facts.push(key);
      gather(value[key], facts, depth + 1);
    }
    facts.push(END);
  } else {
    facts.push(value);
  }
}
