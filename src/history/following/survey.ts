/** What is known of a history after each message was read once. */

import type { BaseMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "../messages/call.js";
import { callIdOf, isMadeUpResult, isResult } from "../messages/result.js";
import { coverageOf } from "../messages/summary.js";
import { isMessage } from "../reading/coerce-message.js";
import { createFollowing, type Follower } from "./follow-list.js";
import { type Place, Places } from "./places.js";

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
