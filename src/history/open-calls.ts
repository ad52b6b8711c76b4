/** Which calls of a history still wait for a result. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "./call.js";
import { type Group, groupMessages } from "./group.js";
import { isMadeUpResult } from "./result.js";

export interface UnansweredCall {
  readonly group: Group;
  readonly call: Call;
}

export interface UnansweredCalls {
  /** Calls of groups that are not open any more, in order. */
  readonly dangling: readonly UnansweredCall[];
  /** Calls of the open group. */
  readonly pending: readonly UnansweredCall[];
}

/** A result that a chat UI made up is replaced by what is known of its call. */
function isAnswered(result: ToolMessage | undefined): boolean {
  return result !== undefined && !isMadeUpResult(result);
}

const NONE: UnansweredCalls = { dangling: [], pending: [] };

const known = new WeakMap<readonly BaseMessage[], UnansweredCalls>();

/** One pass over a history; asked again for the same array it costs nothing. */
export function unansweredCalls(messages: readonly BaseMessage[]): UnansweredCalls {
  const cached = known.get(messages);
  if (cached !== undefined) return cached;
  const { groups } = groupMessages(messages, callsOf);
  const dangling: UnansweredCall[] = [];
  let pending: readonly UnansweredCall[] = [];
  for (const group of groups) {
    const unanswered = group.calls.flatMap((call, index) =>
      isAnswered(group.results[index]) ? [] : [{ group, call }],
    );
    if (group === groups.at(-1)) pending = unanswered;
    else dangling.push(...unanswered);
  }
  const found = dangling.length + pending.length === 0 ? NONE : { dangling, pending };
  known.set(messages, found);
  return found;
}
