/**
 * Keeps what was computed from a list of messages, and goes on from there for the next list of the same thread. And keeps
 * what was made from one message.
 *
 * The list of a thread begins with the messages of the list before. So a follower takes only the new messages. For a list
 * that differs somewhere, a new follower takes them all: no run changes the beginning of what it sends. What a follower
 * has taken is kept as long as the first message of the list, and no longer.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { safely } from "../shared/json.js";
import { isPlainObject } from "../shared/values.js";

export interface Follower {
  /** Takes the next message of the list. */
  take(message: BaseMessage, index: number): void;
}

/**
 * Contract: brings a follower to this list, and returns it. It is only valid until the next call, so read from it at
 * once. `variant` distinguishes followers of the same list that compute different things.
 */
type Following<Made extends Follower> = (
  messages: readonly BaseMessage[],
  variant: string,
  create: () => Made,
) => Made;

interface Line<Made> {
  readonly follower: Made;
  /** What the follower has taken. */
  readonly list: BaseMessage[];
  /** What the latest of these messages held then, by index. */
  readonly facts: Map<number, Facts>;
}

/**
 * LangGraph, LangChain and nodes write ids, names and metadata into the messages of the run that goes on. So what the
 * latest messages hold is compared. The messages before them only have to be the same objects.
 */
const COMPARED_MESSAGES = 64;
/** A thread is seldom sent to more models in turn. */
const MOST_VARIANTS = 4;

export function createFollowing<Made extends Follower>(): Following<Made> {
  const lines = new WeakMap<object, Map<string, Line<Made>>>();
  return (messages, variant, create) => {
    // Agents put a system message of their own before the messages of all threads.
    const first: unknown = messages.find((message) => safely(() => message.type, undefined) !== "system");
    const isKept = typeof first === "object" && first !== null;
    const variants = (isKept && lines.get(first)) || new Map<string, Line<Made>>();
    const known = variants.get(variant);
    const isKnown = known !== undefined && isBeginning(known, messages);
    const line: Line<Made> = isKnown ? known : { follower: create(), list: [], facts: new Map() };
    const { follower, list, facts } = line;
    // If a message throws when it is read, nothing half taken is kept.
    variants.delete(variant);
    for (let index = list.length; index < messages.length; index += 1) {
      const message = messages[index] as BaseMessage;
      follower.take(message, index);
      list.push(message);
      if (index >= messages.length - COMPARED_MESSAGES) facts.set(index, factsOf(message));
      facts.delete(index - COMPARED_MESSAGES);
    }
    variants.set(variant, line);
    for (const oldest of variants.keys()) if (variants.size > MOST_VARIANTS) variants.delete(oldest);
    if (isKept) lines.set(first, variants);
    return follower;
  };
}

/** Whether the list of a line is the beginning of these messages: the same objects, which hold the same as before. */
function isBeginning({ list, facts }: Line<unknown>, messages: readonly BaseMessage[]): boolean {
  if (list.length > messages.length) return false;
  // Several times faster than `===`, which first asks of which types the values are.
  for (let index = 0; index < list.length; index += 1)
    if (!Object.is(messages[index], list[index])) return false;
  for (const [index, before] of facts) if (!holds(messages[index] as BaseMessage, before)) return false;
  return true;
}

/**
 * Contract: returns what `make` returns, and the same again as long as the message holds the same. `key` distinguishes
 * what is made from one message. Only the latest is kept.
 */
type Memo<Made> = (message: BaseMessage, key: unknown, make: () => Made) => Made;

export function createMemo<Made>(): Memo<Made> {
  const known = new WeakMap<
    BaseMessage,
    { readonly key: unknown; readonly facts: Facts; readonly made: Made }
  >();
  return (message, key, make) => {
    const before = known.get(message);
    if (before !== undefined && before.key === key && holds(message, before.facts)) return before.made;
    const made = make();
    known.set(message, { key, facts: factsOf(message), made });
    return made;
  };
}

/*
 * Finds out whether a message was changed in place.
 */

/** Every value that a message holds, in order. Two messages with the same facts have the same content. */
type Facts = readonly unknown[];

/**
 * The facts of each message as they are now, while one input is made. If a message holds what it held before, these are the
 * earlier facts themselves, so whatever follows the list next compares them by identity.
 */
let reading: Map<BaseMessage, Facts> | undefined;

/**
 * Runs code that follows several lists of the same messages, and compares each message once.
 *
 * @param run Contract: synchronous, and changes no message.
 */
export function inOneReading<Made>(run: () => Made): Made {
  const outer = reading;
  reading ??= new Map();
  try {
    return run();
  } finally {
    reading = outer;
  }
}

function factsOf(message: BaseMessage): Facts {
  const known = reading?.get(message);
  if (known !== undefined) return known;
  const facts: unknown[] = [];
  // What throws when it is read is never the same.
  const keep = (fact: unknown): boolean => {
    facts.push(fact);
    return true;
  };
  if (!safely(() => eachFact(message, keep), false)) facts.push(Symbol("unreadable"));
  reading?.set(message, facts);
  return facts;
}

/** Whether the message holds what it held before. */
function holds(message: BaseMessage, before: Facts): boolean {
  if (reading?.get(message) === before) return true;
  let count = 0;
  const isSame = safely(() => eachFact(message, (fact) => Object.is(fact, before[count++])), false);
  if (!isSame || count !== before.length) return false;
  reading?.set(message, before);
  return true;
}

/** Contract: returns false to end the walk. */
type Visit = (fact: unknown) => boolean;

const LIST = Symbol("list");
const OBJECT = Symbol("object");
const END = Symbol("end");
/** What is nested deeper counts as one value. A message cannot be stored with it. */
const DEEPEST = 50;

/** Returns false if the walk was ended. */
function eachFact(message: object, visit: Visit): boolean {
  // Reading a value by the key of a `for in` loop is faster than any other way.
  for (const key in Object(message)) {
    // What the constructor received, too, because everybody reads the fields.
    if (key === "lc_kwargs" || key === "lc_serializable" || key === "lc_namespace") continue;
    if (!visit(key) || !gather(message[key as never], visit, 0)) return false;
  }
  return true;
}

function gather(value: unknown, visit: Visit, depth: number): boolean {
  if (typeof value !== "object" || value === null || depth === DEEPEST) return visit(value);
  if (Array.isArray(value)) {
    if (!visit(LIST) || !visit(value.length)) return false;
    for (let index = 0; index < value.length; index += 1)
      if (!gather(value[index], visit, depth + 1)) return false;
    return true;
  }
  if (!isPlainObject(value)) return visit(value);
  if (!visit(OBJECT)) return false;
  for (const key in value) if (!visit(key) || !gather(value[key], visit, depth + 1)) return false;
  return visit(END);
}
