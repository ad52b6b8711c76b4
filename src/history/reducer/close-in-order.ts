import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Group, placeOfCall } from "../calls/group.js";
import { type Call, callsOf } from "../messages/call.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { callIdOf, causeInHistory, createPlaceholder, isResult } from "../messages/result.js";
import { isListed } from "../reading/read-messages.js";

type Report = (repair: Repair) => void;

/**
 * Closes the calls of a list in which no result has to move and no message has to change. Most lists are so. They are
 * read once, and nothing is kept of the groups that are complete.
 *
 * @returns The same array if no call was open. Undefined if the list is not so; then what was reported does not count.
 */
export function closeInOrder(list: readonly unknown[], report: Report): BaseMessage[] | undefined {
  const given = list as BaseMessage[];
  let closed: BaseMessage[] | undefined;
  let start = 0;
  let head = given[0];
  if (list.length > 0 && !isListed(head)) return undefined;
  while (start < list.length && head !== undefined) {
    // A result without a call before it.
    if (isResult(head)) return undefined;
    const calls = callsOf(head);
    let results: (ToolMessage | undefined)[] | undefined;
    let call = 0;
    let end = start + 1;
    let next = given[end];
    for (; end < list.length; end += 1, next = given[end]) {
      if (!isListed(next)) return undefined;
      if (!isResult(next)) break;
      const answered = callFrom(calls, call, callIdOf(next));
      if (answered === undefined) return undefined;
      if (answered > call) results ??= given.slice(start + 1, end) as ToolMessage[];
      if (results !== undefined) results[answered] = next;
      call = answered + 1;
    }
    if (results === undefined && call === calls.length) {
      if (closed !== undefined)
        for (let index = start; index < end; index += 1) closed.push(given[index] as BaseMessage);
    } else {
      results ??= given.slice(start + 1, end) as ToolMessage[];
      closed ??= given.slice(0, start);
      closeGroup({ head, calls, results, start, end }, next, closed, report);
    }
    start = end;
    head = next;
  }
  return closed ?? given;
}

/** The first call with this id that is not before another one. */
function callFrom(calls: readonly Call[], first: number, id: string): number | undefined {
  for (let call = first; call < calls.length; call += 1) if (calls[call]?.id === id) return call;
  return undefined;
}

/**
 * Adds the messages of a group to a list, with a placeholder for each call without a result.
 *
 * @param next The head of the next group.
 */
export function closeGroup(
  group: Group,
  next: BaseMessage | undefined,
  to: BaseMessage[],
  report: Report,
): void {
  to.push(group.head);
  for (const [index, call] of group.calls.entries()) {
    const result = group.results[index];
    if (result !== undefined) {
      to.push(result);
      continue;
    }
    const message = createPlaceholder(call, causeInHistory(call, next), placeOfCall(group, index));
    report(createRepair({ kind: "call-closed", call, message }));
    to.push(message);
  }
}
