/**
 * Keeps what was computed from a list of messages, and goes on from there for the next list of the same thread.
 *
 * The list of a thread begins with the messages of the list before. So a follower takes only the new messages. If the new
 * list differs somewhere, the follower goes back to that place. What a follower has taken is kept as long as the first
 * message of the list, and no longer.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { safely } from "../shared/json.js";
import { isPlainObject } from "../shared/values.js";

export interface Follower {
  /** Takes the next message of the list. */
  take(message: BaseMessage, index: number): void;
  /**
   * Goes back to where it had taken at most this many messages.
   *
   * @returns How many messages it still has.
   */
  rewind(length: number): number;
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
  list: BaseMessage[];
  /** What the latest of these messages held then, by index. */
  readonly facts: Map<number, readonly unknown[]>;
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
    const line: Line<Made> = variants.get(variant) ?? { follower: create(), list: [], facts: new Map() };
    // If a message throws when it is read, nothing half taken is kept.
    variants.delete(variant);
    bringTo(messages, line);
    variants.set(variant, line);
    for (const oldest of variants.keys()) if (variants.size > MOST_VARIANTS) variants.delete(oldest);
    if (isKept) lines.set(first, variants);
    return line.follower;
  };
}

function bringTo(messages: readonly BaseMessage[], line: Line<Follower>): void {
  const { follower, list, facts } = line;
  const same = sameLength(messages, list, facts);
  const from = same < list.length ? follower.rewind(same) : same;
  for (let index = from; index < messages.length; index += 1)
    follower.take(messages[index] as BaseMessage, index);
  // A new list takes a copy at once, because a list that grows is copied again and again.
  if (from === 0) line.list = messages.slice();
  else {
    list.length = from;
    for (let index = from; index < messages.length; index += 1) list.push(messages[index] as BaseMessage);
  }
  const compared = Math.max(messages.length - COMPARED_MESSAGES, 0);
  for (const index of facts.keys()) if (index < compared || index >= from) facts.delete(index);
  for (let index = compared; index < messages.length; index += 1)
    if (!facts.has(index)) facts.set(index, messageFacts(messages[index] as BaseMessage));
}

/** How many messages at the beginning are the same objects, and hold the same as before. */
function sameLength(
  messages: readonly BaseMessage[],
  list: readonly BaseMessage[],
  facts: ReadonlyMap<number, readonly unknown[]>,
): number {
  const most = Math.min(messages.length, list.length);
  let same = 0;
  // Several times faster than `===`, which first asks of which types the values are.
  while (same < most && Object.is(messages[same], list[same])) same += 1;
  let least = same;
  for (const [index, before] of facts)
    if (index < least && !hasFacts(messages[index] as BaseMessage, before)) least = index;
  return least;
}

/*
 * Finds out whether a message was changed in place.
 */

const LIST = Symbol("list");
const OBJECT = Symbol("object");
const END = Symbol("end");
/** What is nested deeper counts as one value. A message cannot be stored with it. */
const DEEPEST = 50;

/** Every value that a message holds, in order. Two messages with the same facts have the same content. */
export function messageFacts(message: BaseMessage): readonly unknown[] {
  const facts: unknown[] = [];
  // What throws when it is read is never the same.
  return safely(() => readFacts(message, facts), false) ? facts : [Symbol("unreadable")];
}

/** Whether a message has these facts. */
export function hasFacts(message: BaseMessage, expected: readonly unknown[]): boolean {
  const facts = messageFacts(message);
  return facts.length === expected.length && facts.every((fact, index) => Object.is(fact, expected[index]));
}

function readFacts(message: object, facts: unknown[]): true {
  // Reading a value by the key of a `for in` loop is faster than any other way.
  for (const key in Object(message)) {
    if (key === "lc_serializable" || key === "lc_namespace") continue;
    facts.push(key);
    // The values are those of the fields.
    gather(message[key as never], facts, key === "lc_kwargs" ? DEEPEST - 1 : 0);
  }
  return true;
}

function gather(value: unknown, facts: unknown[], depth: number): void {
  if (typeof value !== "object" || value === null || depth === DEEPEST) {
    facts.push(value);
  } else if (Array.isArray(value)) {
    facts.push(LIST, value.length);
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
