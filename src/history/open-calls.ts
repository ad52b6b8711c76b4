/** The calls of a history that wait for a result, and what else is known of it after one reading. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "./call.js";
import { createFollowing, type Follower, type Place, Places } from "./follow-list.js";
import { type Group, groupMessages } from "./group.js";
import { isMessage } from "./read-messages.js";
import { callIdOf, isMadeUpResult, isResult } from "./result.js";
import { coverageOf } from "./summary.js";

export interface UnansweredCall {
  readonly group: Group;
  readonly call: Call;
  /** The index of the call among the calls of its group. */
  readonly place: number;
}

interface UnansweredCalls {
  /** Calls of groups that are not open, in order. */
  readonly dangling: readonly UnansweredCall[];
  /** Calls of the open group. */
  readonly pending: readonly UnansweredCall[];
}

/** A result that another program made up does not count, because the real outcome will replace it. */
function isAnswered(result: ToolMessage | undefined): boolean {
  return result !== undefined && !isMadeUpResult(result);
}

const NONE: UnansweredCalls = { dangling: [], pending: [] };

const known = new WeakMap<readonly BaseMessage[], UnansweredCalls>();

/** Reads the messages that the thread's list before did not have. The finding is cached by array. */
export function unansweredCalls(messages: readonly BaseMessage[]): UnansweredCalls {
  const cached = known.get(messages);
  if (cached !== undefined) return cached;
  const found = findUnanswered(messages);
  known.set(messages, found);
  return found;
}

function findUnanswered(messages: readonly BaseMessage[]): UnansweredCalls {
  const { paired, madeUp } = surveyOf(messages);
  if (paired === messages.length && madeUp === 0) return NONE;
  const { groups } = groupMessages(messages, callsOf);
  const dangling: UnansweredCall[] = [];
  let pending: readonly UnansweredCall[] = [];
  for (const group of groups) {
    const unanswered = group.calls.flatMap((call, place) =>
      isAnswered(group.results[place]) ? [] : [{ group, call, place }],
    );
    if (group === groups.at(-1)) pending = unanswered;
    // One message can have more calls than a function takes arguments.
    else for (const one of unanswered) dangling.push(one);
  }
  return dangling.length + pending.length === 0 ? NONE : { dangling, pending };
}

/*
 * What is known of a history after each message was read once.
 */

export interface Survey {
  /**
   * How many messages at the beginning are complete groups: each call has its result, directly after its message and in
   * call order.
   */
  readonly paired: number;
  /** How many of the values are no messages, or have a role that clients may not know. */
  readonly odd: number;
  /** How many messages are summaries. */
  readonly summaries: number;
  /** How many results another program made up. */
  readonly madeUp: number;
  /** The indexes of the system messages. Only complete if nothing is odd. */
  readonly systems: readonly number[];
}

/** The survey of the messages up to one, and what the next message needs. */
interface Surveyed extends Place, Omit<Survey, "systems"> {
  /** The calls of the last group, and how many of them have their result. */
  readonly calls: readonly Call[];
  readonly answered: number;
  /** Whether all messages so far are in order. */
  readonly isOrdered: boolean;
}

const NOTHING: Surveyed = {
  taken: 0,
  paired: 0,
  odd: 0,
  summaries: 0,
  madeUp: 0,
  calls: [],
  answered: 0,
  isOrdered: true,
};

const COMMON_ROLES: ReadonlySet<unknown> = new Set(["human", "ai", "tool", "system"]);

class Surveyor implements Follower {
  #last = NOTHING;
  readonly #places = new Places<Surveyed>();
  readonly #systems: number[] = [];

  get survey(): Survey {
    return { ...this.#last, systems: [...this.#systems] };
  }

  take(message: BaseMessage, index: number): void {
    this.#places.add(this.#last);
    this.#last = surveyed(this.#last, message, index);
    if (this.#last.odd === 0 && message.type === "system") this.#systems.push(index);
  }

  rewind(length: number): number {
    this.#last = this.#places.rewind(length) ?? NOTHING;
    while ((this.#systems.at(-1) ?? -1) >= this.#last.taken) this.#systems.pop();
    return this.#last.taken;
  }
}

function surveyed(before: Surveyed, message: BaseMessage, index: number): Surveyed {
  const taken = index + 1;
  if (!isMessage(message)) return { ...before, taken, odd: before.odd + 1, isOrdered: false };
  const odd = before.odd + (COMMON_ROLES.has(message.type) ? 0 : 1);
  const summaries = before.summaries + (coverageOf(message) === undefined ? 0 : 1);
  if (isResult(message)) {
    const { calls } = before;
    const isOrdered = before.isOrdered && calls[before.answered]?.id === callIdOf(message);
    const answered = before.answered + 1;
    const madeUp = before.madeUp + (isMadeUpResult(message) ? 1 : 0);
    const paired = isOrdered && answered === calls.length ? index + 1 : before.paired;
    return { taken, paired, odd, summaries, madeUp, calls, answered, isOrdered };
  }
  const calls = callsOf(message);
  const { madeUp } = before;
  const isOrdered = before.isOrdered && before.answered === before.calls.length;
  const paired = isOrdered && calls.length === 0 ? index + 1 : before.paired;
  return { taken, paired, odd, summaries, madeUp, calls, answered: 0, isOrdered };
}

const follow = createFollowing<Surveyor>();

/** Reads the messages that the thread's list before did not have. */
export function surveyOf(messages: readonly BaseMessage[]): Survey {
  return follow(messages, "", () => new Surveyor()).survey;
}
