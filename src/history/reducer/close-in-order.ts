import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Group, placeOfCall } from "../calls/group.js";
import { type Call, callsOf, countCalls, isListedAt } from "../messages/call.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { callIdOf, causeInHistory, createPlaceholder, isResult } from "../messages/result.js";
import { isListed } from "../reading/read-messages.js";

type Report = (repair: Repair) => void;

/**
 * Closes the calls of a list in which no result has to move and no message has to change. Most lists are so. They are
 * read once, and nothing is kept of the groups that are complete.
 *
 * @returns The same array if no call was open. Undefined if the list is not so; then nothing was reported.
 */
export function closeInOrder(list: readonly unknown[], report: Report): BaseMessage[] | undefined {
  const given = list as BaseMessage[];
  const incomplete: Group[] = [];
  if (list.length > 0 && !isListed(list[0])) return undefined;
  for (let start = 0, end = 0; start < list.length; start = end) {
    end = endOfGroup(list, start);
    if (end < 0) return undefined;
    if (isComplete(given, start, end)) continue;
    const group = groupInOrder(given, start, end);
    if (group === undefined) return undefined;
    if (group.results.includes(undefined)) incomplete.push(group);
  }
  return incomplete.length === 0 ? given : closeGroups(given, incomplete, report);
}

/** The list with a placeholder for each call without a result in these groups. */
function closeGroups(given: readonly BaseMessage[], groups: readonly Group[], report: Report): BaseMessage[] {
  const closed: BaseMessage[] = [];
  let copied = 0;
  for (const group of groups) {
    for (; copied < group.start; copied += 1) closed.push(given[copied] as BaseMessage);
    closeGroup(group, given[group.end], closed, report);
    copied = group.end;
  }
  for (; copied < given.length; copied += 1) closed.push(given[copied] as BaseMessage);
  return closed;
}

/** The index after the results that follow a message; -1 if a value up to there, which is read too, is not a message. */
function endOfGroup(list: readonly unknown[], start: number): number {
  let end = start + 1;
  for (; end < list.length; end += 1) {
    const next = list[end];
    if (!isListed(next)) return -1;
    if (!isResult(next)) break;
  }
  return end;
}

/**
 * Whether the messages of a group are a head and a result for each of its calls, in call order. False says nothing, if a
 * call is not in `tool_calls`. Most groups are so, and nothing is allocated to find that.
 */
function isComplete(given: readonly BaseMessage[], start: number, end: number): boolean {
  const head = given[start] as BaseMessage;
  if (isResult(head) || countCalls(head) !== end - start - 1) return false;
  for (let index = start + 1; index < end; index += 1)
    if (!isListedAt(head, index - start - 1, callIdOf(given[index] as ToolMessage))) return false;
  return true;
}

/** A group whose results are in call order; undefined if they are not, or answer no call of its head. */
function groupInOrder(given: readonly BaseMessage[], start: number, end: number): Group | undefined {
  const head = given[start] as BaseMessage;
  if (isResult(head)) return undefined;
  const calls = callsOf(head);
  const results: (ToolMessage | undefined)[] = calls.map(() => undefined);
  let call = 0;
  for (let index = start + 1; index < end; index += 1) {
    const result = given[index] as ToolMessage;
    const answered = callFrom(calls, call, callIdOf(result));
    if (answered === undefined) return undefined;
    results[answered] = result;
    call = answered + 1;
  }
  return { head, calls, results, start, end };
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
