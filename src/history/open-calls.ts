/** A history's calls that wait for a result, and what else one reading tells about it. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "./call.js";
import { createFollowing, type Follower } from "./follow-list.js";
import { type Group, groupMessages } from "./group.js";
import { MARKS } from "./marks.js";
import { isMessage } from "./read-messages.js";
import { callIdOf, isMadeUpResult, isResult } from "./result.js";
import { countTokens, usageOf } from "./size.js";
import { coverageOf, isUserMessage } from "./summary.js";

export interface UnansweredCall {
  readonly group: Group;
  readonly call: Call;
  /** The call's index among its group's calls. */
  readonly index: number;
}

interface UnansweredCalls {
  /** In order. */
  readonly all: readonly UnansweredCall[];
  /** Calls of groups that are not open. */
  readonly dangling: readonly UnansweredCall[];
  /** Calls of the open group. */
  readonly pending: readonly UnansweredCall[];
}

/** A result that another program made up does not count, because the real outcome will replace it. */
function isAnswered(result: ToolMessage | undefined): boolean {
  return result !== undefined && !isMadeUpResult(result);
}

export function unansweredCalls(messages: readonly BaseMessage[]): UnansweredCalls {
  const { paired, madeUp } = surveyOf(messages);
  if (paired === messages.length && madeUp === 0) return { all: [], dangling: [], pending: [] };
  const unanswered = groupMessages(messages, callsOf).groups.map((group) =>
    group.calls.flatMap((call, index) => (isAnswered(group.results[index]) ? [] : [{ group, call, index }])),
  );
  return {
    all: unanswered.flat(),
    dangling: unanswered.slice(0, -1).flat(),
    pending: unanswered.at(-1) ?? [],
  };
}

/*
 * What is known about a history after each message was read once.
 */

/** What a provider reported with a response. */
export interface UsageReport {
  readonly response: BaseMessage;
  /** The tokens of its input, and of both. */
  readonly input: number;
  readonly usage: number;
  /** Our estimate of the messages before the response, and of these with it. */
  readonly before: number;
  readonly until: number;
  readonly turn: number;
  /** Whether messages of the input were shortened or left out, so that it was shorter than the history. */
  readonly isShortened: boolean;
}

class Surveyor implements Follower {
  /**
   * How many messages at the beginning are complete groups: each call has its result, directly after its message and in
   * call order.
   */
  paired = 0;
  /** How many of the values are not messages, or have a role that clients may not know. */
  odd = 0;
  summaries = 0;
  /** How many results another program made up. */
  madeUp = 0;
  /** How many are system messages, and how many of these come before all others. */
  systems = 0;
  leadingSystems = 0;
  /** The messages' tokens, by our estimate. */
  tokens = 0;
  /** What providers reported with responses, oldest first. */
  readonly reports: UsageReport[] = [];
  #turn = 0;
  /** Whether all messages so far are in order, the last group's calls, and how many of them have their result. */
  #isOrdered = true;
  #calls: readonly Call[] = [];
  #answered = 0;

  take(message: BaseMessage, index: number): void {
    if (!isMessage(message)) {
      this.odd += 1;
      this.#isOrdered = false;
      return;
    }
    if (isResult(message)) {
      this.#isOrdered &&= this.#calls[this.#answered]?.id === callIdOf(message);
      this.#answered += 1;
    } else {
      this.#isOrdered &&= this.#answered === this.#calls.length;
      this.#calls = callsOf(message);
      this.#answered = 0;
    }
    if (this.#isOrdered && this.#answered === this.#calls.length) this.paired = index + 1;
    if (!COMMON_ROLES.has(message.type)) this.odd += 1;
    if (coverageOf(message) !== undefined) this.summaries += 1;
    if (isMadeUpResult(message)) this.madeUp += 1;
    if (message.type === "system") {
      if (this.leadingSystems === index) this.leadingSystems += 1;
      this.systems += 1;
    }
    if (isUserMessage(message)) this.#turn += 1;
    const before = this.tokens;
    this.tokens += countTokens(message);
    const { input, output } = usageOf(message);
    if (input === 0) return;
    this.reports.push({
      response: message,
      input,
      usage: input + output,
      before,
      until: this.tokens,
      turn: this.#turn,
      isShortened: message.additional_kwargs?.[MARKS.shortened] !== undefined,
    });
  }
}

export type Survey = Readonly<Omit<Surveyor, "take">>;

const COMMON_ROLES: ReadonlySet<unknown> = new Set(["human", "ai", "tool", "system"]);

const follow = createFollowing<Surveyor>();

/** Only messages that are new since the thread's last list are read. */
export function surveyOf(messages: readonly BaseMessage[]): Survey {
  return follow(
    messages,
    [],
    () => new Surveyor(),
    (surveyor) => ({ ...surveyor, reports: surveyor.reports.slice() }),
  );
}
