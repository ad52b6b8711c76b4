import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { placeOfCall } from "../calls/group.js";
import { withSentCalls } from "../calls/listed-calls.js";
import { type Call, callsOf, countCalls, isListedAt } from "../messages/call.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { callIdOf, causeInHistory, createPlaceholder, isResult } from "../messages/result.js";
import { isListed } from "../reading/read-messages.js";

/** A placeholder, and the index of the message before which it stands. */
interface Closing {
  readonly at: number;
  readonly call: Call;
  readonly message: ToolMessage;
}

/**
 * Closes the calls of a list in which no result has to move and no message has to change. Most lists are so. They are
 * read once, and nothing is kept of the groups that are complete.
 *
 * @returns The same array if no call was open. Undefined if the list is not so; then nothing was reported.
 */
export function closeInOrder(
  list: readonly unknown[],
  report: (repair: Repair) => void,
): BaseMessage[] | undefined {
  const given = list as BaseMessage[];
  const closings: Closing[] = [];
  if (list.length > 0 && !isListed(list[0])) return undefined;
  for (let start = 0, end = 0; start < list.length; start = end) {
    end = endOfGroup(list, start);
    if (end < 0) return undefined;
    if (!isComplete(given, start, end) && !closeGroup(given, start, end, closings)) return undefined;
  }
  for (const { call, message } of closings) report(createRepair({ kind: "call-closed", call, message }));
  return closings.length === 0 ? given : withClosings(given, closings);
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

/** Closes the calls without a result. Returns whether the results are in call order, and each answers a call. */
function closeGroup(given: readonly BaseMessage[], start: number, end: number, closings: Closing[]): boolean {
  const head = given[start] as BaseMessage;
  if (isResult(head) || withSentCalls(head) !== head) return false;
  const calls = callsOf(head);
  let next = 0;
  for (let index = start + 1; index <= end; index += 1) {
    // After the last result, all calls that are left are open.
    const answered =
      index === end ? calls.length : callFrom(calls, next, callIdOf(given[index] as ToolMessage));
    if (answered === undefined) return false;
    for (; next < answered; next += 1) {
      const call = calls[next] as Call;
      const cause = causeInHistory(call, given[end]);
      const message = createPlaceholder(call, cause, placeOfCall({ head, start }, next));
      closings.push({ at: index, call, message });
    }
    next += 1;
  }
  return true;
}

/** The first call with this id that is not before another one. */
function callFrom(calls: readonly Call[], first: number, id: string): number | undefined {
  for (let call = first; call < calls.length; call += 1) if (calls[call]?.id === id) return call;
  return undefined;
}

/** The list with the placeholders. */
function withClosings(given: readonly BaseMessage[], closings: readonly Closing[]): BaseMessage[] {
  // An array that grows leaves behind twice what it holds.
  const closed = new Array<BaseMessage>(given.length + closings.length);
  let copied = 0;
  for (const [index, { at, message }] of closings.entries()) {
    for (; copied < at; copied += 1) closed[copied + index] = given[copied] as BaseMessage;
    closed[at + index] = message;
  }
  for (; copied < given.length; copied += 1) closed[copied + closings.length] = given[copied] as BaseMessage;
  return closed;
}
