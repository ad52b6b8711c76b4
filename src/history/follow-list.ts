/**
 * Keeps what was computed from a list of messages, and continues from there for the same thread's next list. It also
 * keeps what was made from one message.
 *
 * A thread's next list usually begins with the messages of the last one, so a follower takes only the new messages. If
 * the lists differ, a new follower takes them all. What a follower has taken is kept as long as the list's first
 * message, and no longer.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { safely } from "../shared/json.js";
import { factsOf, isSame } from "./facts.js";

export interface Follower {
  /** Takes the next message of the list. */
  take(message: BaseMessage, index: number): void;
}

/**
 * Contract: brings a follower to this list, and returns what `read` reads from it. The follower goes on with the
 * thread's next list, so `read` returns no part that changes then. Followers of the same list that compute different
 * things have other variants.
 */
type Following<Made extends Follower> = <Result>(
  messages: readonly BaseMessage[],
  variant: readonly unknown[],
  create: () => Made,
  read: (follower: Made) => Result,
) => Result;

interface Line<Made> {
  readonly variant: readonly unknown[];
  readonly follower: Made;
  /** What the follower has taken. */
  readonly list: readonly BaseMessage[];
  /** What the latest of these messages held then, by index. */
  readonly facts: ReadonlyMap<number, readonly unknown[]>;
}

/**
 * LangGraph, LangChain and nodes write ids, names and metadata into the current run's messages. So the latest messages'
 * contents are compared. Earlier messages only have to be the same objects.
 */
const COMPARED_MESSAGES = 64;
/** A thread is seldom sent to more models in turn. */
const MOST_VARIANTS = 4;

export function createFollowing<Made extends Follower>(): Following<Made> {
  const kept = new WeakMap<object, readonly Line<Made>[]>();
  return (messages, variant, create, read) => {
    // Agents put their own system message before every thread's messages.
    const first: unknown = messages.find((message) => safely(() => message.type) !== "system");
    const isKept = typeof first === "object" && first !== null;
    const lines = (isKept && kept.get(first)) || [];
    const known = lines.find((line) => isSame(line.variant, variant));
    const others = lines.filter((line) => line !== known);
    const isKnown = known !== undefined && isBeginning(known, messages);
    const { follower, list, facts } = isKnown ? known : { follower: create(), list: [], facts: new Map() };
    // If a message throws when it is read, no half-read follower is kept.
    if (isKept) kept.set(first, others);
    takeAll(follower, messages, list.length);
    const line = { variant, follower, list: messages.slice(), facts: latestFacts(messages, facts) };
    if (isKept) kept.set(first, [...others.slice(1 - MOST_VARIANTS), line]);
    return read(follower);
  };
}

/** The follower, after it has taken the list. Used alone for a list that no other one continues. */
export function takeAll<Made extends Follower>(
  follower: Made,
  messages: readonly BaseMessage[],
  start = 0,
): Made {
  for (let index = start; index < messages.length; index += 1)
    follower.take(messages[index] as BaseMessage, index);
  return follower;
}

/** Whether these messages begin with a line's list: the same objects, which hold the same as before. */
function isBeginning({ list, facts }: Line<unknown>, messages: readonly BaseMessage[]): boolean {
  if (list.length > messages.length) return false;
  // Several times faster than `===`, which first checks the values' types.
  for (let index = 0; index < list.length; index += 1)
    if (!Object.is(messages[index], list[index])) return false;
  return [...facts].every(([index, before]) => isSame(before, factsOf(messages[index] as BaseMessage)));
}

function latestFacts(
  messages: readonly BaseMessage[],
  known: Line<unknown>["facts"],
): Line<unknown>["facts"] {
  const facts = new Map<number, readonly unknown[]>();
  for (let index = Math.max(messages.length - COMPARED_MESSAGES, 0); index < messages.length; index += 1)
    facts.set(index, known.get(index) ?? factsOf(messages[index] as BaseMessage));
  return facts;
}

/**
 * Contract: returns what `make` returns, and the same again while the message holds the same. `key` tells apart what is
 * made from one message. Only the latest is kept.
 */
type Memo<Made> = (message: BaseMessage, key: unknown, make: () => Made) => Made;

export function createMemo<Made>(): Memo<Made> {
  const known = new WeakMap<BaseMessage, { readonly facts: readonly unknown[]; readonly made: Made }>();
  return (message, key, make) => {
    const facts = [key, ...factsOf(message)];
    const before = known.get(message);
    if (before !== undefined && isSame(before.facts, facts)) return before.made;
    const made = make();
    known.set(message, { facts, made });
    return made;
  };
}
