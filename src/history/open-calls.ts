/** The calls of a history that wait for a result, and what else is known of it after one reading. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "./call.js";
import { createFollowing, type Follower } from "./follow-list.js";
import { type Group, groupMessages } from "./group.js";
import { isMessage } from "./read-messages.js";
import { callIdOf, isMadeUpResult, isResult } from "./result.js";
import { countTokens, usageOf } from "./size.js";
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

export function unansweredCalls(messages: readonly BaseMessage[]): UnansweredCalls {
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
  /** How many are system messages, and how many of these stand before all others. */
  readonly systems: number;
  readonly leadingSystems: number;
  /** The tokens of the messages, by our estimate. */
  readonly tokens: number;
  /** The last usage numbers of a response, and the estimate up to it. */
  readonly measured: { readonly usage: number; readonly tokens: number } | undefined;
}

/** The survey of the messages up to one, and what the next message needs. */
interface Surveyed extends Survey {
  /** The calls of the last group, and how many of them have their result. */
  readonly calls: readonly Call[];
  readonly answered: number;
  /** Whether all messages so far are in order. */
  readonly isOrdered: boolean;
}

const NOTHING: Surveyed = {
  paired: 0,
  odd: 0,
  summaries: 0,
  madeUp: 0,
  systems: 0,
  leadingSystems: 0,
  tokens: 0,
  measured: undefined,
  calls: [],
  answered: 0,
  isOrdered: true,
};

const COMMON_ROLES: ReadonlySet<unknown> = new Set(["human", "ai", "tool", "system"]);

class Surveyor implements Follower {
  survey = NOTHING;

  take(message: BaseMessage, index: number): void {
    this.survey = surveyed(this.survey, message, index);
  }
}

function surveyed(before: Surveyed, message: BaseMessage, index: number): Surveyed {
  if (!isMessage(message)) return { ...before, odd: before.odd + 1, isOrdered: false };
  const isAnswer = isResult(message);
  const calls = isAnswer ? before.calls : callsOf(message);
  const answered = isAnswer ? before.answered + 1 : 0;
  const isNext = isAnswer
    ? calls[before.answered]?.id === callIdOf(message)
    : before.answered === before.calls.length;
  const isOrdered = before.isOrdered && isNext;
  const isSystem = message.type === "system";
  const isLeading = isSystem && before.leadingSystems === index;
  const tokens = before.tokens + countTokens(message);
  const usage = usageOf(message);
  return {
    paired: isOrdered && answered === calls.length ? index + 1 : before.paired,
    odd: before.odd + (COMMON_ROLES.has(message.type) ? 0 : 1),
    summaries: before.summaries + (coverageOf(message) === undefined ? 0 : 1),
    madeUp: before.madeUp + (isMadeUpResult(message) ? 1 : 0),
    systems: before.systems + (isSystem ? 1 : 0),
    leadingSystems: before.leadingSystems + (isLeading ? 1 : 0),
    tokens,
    measured: usage > 0 ? { usage, tokens } : before.measured,
    calls,
    answered,
    isOrdered,
  };
}

const follow = createFollowing<Surveyor>();

/** Reads the messages that the thread's list before did not have. */
export function surveyOf(messages: readonly BaseMessage[]): Survey {
  return follow(messages, "", () => new Surveyor()).survey;
}
