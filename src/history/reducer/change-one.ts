/**
 * Updates of one message that change nothing around it. A draft would read every group after the message; here the array
 * is copied, and nothing else is read.
 */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { callsAnsweredAfter } from "../calls/group.js";
import type { Call } from "../messages/call.js";
import { withStoredMarks } from "../messages/marks.js";
import { recoveredAfter } from "../messages/recovered.js";
import { createRepair } from "../messages/repair.js";
import { callIdOf, isPlaceholder, isResult } from "../messages/result.js";
import { coverageOf } from "../messages/summary.js";
import { positionIn, rememberRemoval, rememberReplacement } from "./known-history.js";
import type { Report } from "./remove-message.js";

/**
 * The history after an update of this message.
 *
 * @param history A known history: see `isKnownHistory`.
 * @returns Undefined if the update needs a draft.
 */
export function changeOne(
  history: readonly BaseMessage[],
  message: BaseMessage,
  report: Report,
): BaseMessage[] | undefined {
  const position = positionIn(history, message.id ?? "");
  const stored = position === undefined ? undefined : history[position];
  if (position === undefined || stored === undefined) return undefined;
  if (RemoveMessage.isInstance(message)) return removeOne(history, stored, position, report);
  if (stored === message || recoveredAfter(message) !== undefined) return undefined;
  if (!fitsInPlaceOf(message, stored)) return undefined;
  const changed = history.slice();
  changed[position] = withStoredMarks(message, stored);
  rememberReplacement(changed, history);
  return changed;
}

/** Whether the results of a group answer the same calls, and the same messages are covered. */
function fitsInPlaceOf(message: BaseMessage, stored: BaseMessage): boolean {
  if (isResult(message) !== isResult(stored)) return false;
  if (isResult(message))
    return (
      callIdOf(message) === callIdOf(stored as ToolMessage) &&
      !isPlaceholder(message) &&
      !isPlaceholder(stored)
    );
  if (coverageOf(message) !== undefined || coverageOf(stored) !== undefined) return false;
  return isSameCalls(callsAnsweredAfter(message), callsAnsweredAfter(stored));
}

function isSameCalls(one: readonly Call[], other: readonly Call[]): boolean {
  return one.length === other.length && one.every(({ id }, index) => id === other[index]?.id);
}

/** A result is not removed here: that can change which calls the results after it answer. */
function removeOne(
  history: readonly BaseMessage[],
  stored: BaseMessage,
  position: number,
  report: Report,
): BaseMessage[] | undefined {
  if (isResult(stored)) return undefined;
  let end = position + 1;
  for (let next = history[end]; next !== undefined && isResult(next); next = history[end]) {
    report(createRepair({ kind: "result-removed", message: next }));
    end += 1;
  }
  const left = history.slice(0, position).concat(history.slice(end));
  rememberRemoval(left, history, end - position);
  return left;
}
