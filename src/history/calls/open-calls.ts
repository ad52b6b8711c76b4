/** Finds the calls of a history that wait for a result. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { surveyOf } from "../following/survey.js";
import { type Call, callsOf } from "../messages/call.js";
import { isMadeUpResult } from "../messages/result.js";
import { type Group, groupMessages } from "./group.js";

export interface UnansweredCall {
  readonly group: Group;
  readonly call: Call;
  /** The index of the call among the calls of its group. */
  readonly place: number;
}

export interface UnansweredCalls {
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
