/**
 * The reducer of the messages channel: a left fold of single messages over a history.
 *
 *     reduce(reduce(history, xs), ys) = reduce(history, [...xs, ...ys])
 *
 *  1. It accepts what `messagesStateReducer` accepts; chunks are stored as their non-chunk class. A missing id is
 *     derived from what precedes the message and what it says, so a replay gives the same ids.
 *  2. The equation above holds without exception.
 *  3. It never throws. What is no message is dropped and reported.
 *  4. A `RemoveMessage` is resolved where it stands in the update; none is ever stored. Removing a message with
 *     calls removes its results. Removing an id that is not there changes nothing. `REMOVE_ALL_MESSAGES` clears
 *     all that stands before it, in the history and in the update.
 *  5. A message whose id is in the history replaces that message in place. Results of calls that are lost that
 *     way go with them.
 *  6. A result is placed directly behind its message, in call order. Which call it answers, in this order: the call
 *     of the result that has its message id; the nearest call of its id without a result or with only a
 *     placeholder; the nearest call of its id (the earlier result is replaced). A placeholder never replaces a
 *     real result.
 *  7. A result without such a call is refused and reported with the whole message. A call that an archived
 *     summary covers counts: its result is kept directly behind the summary.
 *  8. A new summary is placed behind the last message that it covers, or behind the leading system messages. What
 *     it archives leaves the history in the same step: exactly the messages that it names.
 *  9. Nothing is mutated. What is untouched keeps its identity, and so does the array if nothing changed.
 * 10. A history that is not in this form is brought into it first.
 * 11. An append costs the copy of the array and work for the new messages only.
 */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import type { Call } from "./call.js";
import { coerceMessage } from "./coerce-message.js";
import { copyMessage } from "./copy-message.js";
import { Draft } from "./draft.js";
import { endOfGroup, findSlot, type PlacedGroup, readGroup, refit } from "./draft-group.js";
import { callsAnsweredAfter } from "./group.js";
import { deriveUnusedId } from "./message-id.js";
import { normalizeHistory } from "./normalize-history.js";
import { listOf } from "./read-messages.js";
import { REMOVE_ALL_MESSAGES } from "./remove-all-messages.js";
import { createRepair, type Repair } from "./repair.js";
import { callIdOf, isPlaceholder, isResult } from "./result.js";
import { coverageOf } from "./summary.js";

/** What `reduceMessages` returns. */
export interface ReducedMessages {
  /** The history that the update leads to; the given array if that is what it was already. */
  readonly messages: BaseMessage[];
  /** What was done beyond what the update asked for, in order. */
  readonly repairs: readonly Repair[];
}

type Report = (repair: Repair) => void;

/**
 * The history that an update leads to, in which every tool call has its result or may still get it. Pure, and never
 * throws: a message is added, or replaces the one of its id, or removes one.
 *
 * @param history A history, or any list that was stored as one; absent counts as empty.
 * @param update One message-like or several.
 */
export function reduceMessages(history: unknown, update: unknown): ReducedMessages {
  const repairs: Repair[] = [];
  const report: Report = (repair) => repairs.push(repair);
  const draft = new Draft(normalizeHistory(listOf(history), report));
  for (const value of listOf(update)) {
    const message = coerceMessage(value);
    if (message === undefined) report(createRepair({ kind: "value-refused", value }));
    else applyMessage(draft, message, report);
  }
  return { messages: draft.finish(), repairs };
}

function applyMessage(draft: Draft, message: BaseMessage, report: Report): void {
  if (RemoveMessage.isInstance(message)) {
    if (message.id === REMOVE_ALL_MESSAGES) draft.clear();
    else removeMessage(draft, message.id ?? "", report);
    return;
  }
  const position = hasId(message) ? draft.find(message.id) : undefined;
  if (isResult(message)) placeResult(draft, message, position, report);
  else if (position !== undefined) replaceMessage(draft, message, position, report);
  else placeMessage(draft, message, report);
}

function hasId(message: BaseMessage): message is BaseMessage & { id: string } {
  return typeof message.id === "string" && message.id !== "";
}

/** The message with an id, derived for the place before the message that now stands at `position`. */
function identify<T extends BaseMessage>(draft: Draft, message: T, position: number): T {
  if (hasId(message)) return message;
  const previousId = draft.idBefore(position);
  const id = deriveUnusedId(message, previousId, (candidate) => draft.find(candidate) !== undefined);
  return copyMessage<BaseMessage>(message, { id }) as T;
}

function removeMessage(draft: Draft, id: string, report: Report): void {
  const position = draft.find(id);
  if (position === undefined) {
    report(createRepair({ kind: "removal-ignored", id }));
    return;
  }
  refillGroup(draft, readGroup(draft, position), [], report);
  draft.remove(position);
}

/** Rule 8 for a summary, else an append. */
function placeMessage(draft: Draft, message: BaseMessage, report: Report): void {
  const coverage = coverageOf(message);
  const position = coverage === undefined ? draft.length : placeOfSummary(draft, coverage.messages);
  draft.insert(position, identify(draft, message, position));
  archiveCovered(draft, message, undefined, report);
}

function placeOfSummary(draft: Draft, covered: readonly string[]): number {
  let last = -1;
  for (const id of covered) last = Math.max(last, draft.find(id) ?? -1);
  if (last >= 0) return endOfGroup(draft, last);
  let position = 0;
  for (let next = 0; next < draft.length; next += 1) {
    const message = draft.at(next);
    if (message === undefined) continue;
    if (message.type !== "system") break;
    position = next + 1;
  }
  return position;
}

/**
 * What a summary names leaves with its first writing; a summary that replaces one takes only what that one did not
 * name, as the rest may have come back since. A result of an archived call that the summary does not name came
 * meanwhile: it stays, behind the summary.
 */
function archiveCovered(
  draft: Draft,
  summary: BaseMessage,
  former: BaseMessage | undefined,
  report: Report,
): void {
  const coverage = coverageOf(summary);
  if (coverage?.kind !== "archive") return;
  const formerCoverage = former === undefined ? undefined : coverageOf(former);
  const alreadyArchived = new Set(formerCoverage?.kind === "archive" ? formerCoverage.messages : []);
  const covered = new Set(coverage.messages.filter((id) => !alreadyArchived.has(id)));
  const homeless: ToolMessage[] = [];
  for (const id of covered) {
    const position = draft.find(id);
    if (position === undefined || id === summary.id) continue;
    for (const at of readGroup(draft, position).positions) {
      const result = draft.at(at);
      if (result === undefined || !isResult(result) || covered.has(result.id ?? "")) continue;
      homeless.push(result);
      draft.remove(at);
    }
    draft.remove(position);
  }
  for (const result of homeless) placeResult(draft, result, undefined, report);
}

/** Rule 5, for a message that is no result. */
function replaceMessage(draft: Draft, message: BaseMessage, position: number, report: Report): void {
  const former = draft.at(position);
  if (former === message) return;
  if (former !== undefined && isResult(former)) {
    // Inside a group only results may stand, so the new message follows the group.
    const end = endOfGroup(draft, position);
    draft.remove(position);
    draft.insert(end, message);
  } else {
    const group = readGroup(draft, position);
    draft.replace(position, message);
    refillGroup(draft, group, callsAnsweredAfter(message), report);
  }
  archiveCovered(draft, message, former, report);
}

function refillGroup(draft: Draft, group: PlacedGroup, calls: readonly Call[], report: Report): void {
  const { kept, lost } = refit(draft, group, calls);
  for (const message of lost) report(createRepair({ kind: "result-removed", message }));
  for (const [index, position] of group.positions.entries()) {
    const message = kept[index];
    if (message === undefined) draft.remove(position);
    else draft.replace(position, message);
  }
}

/** Rules 6 and 7. `own` is the position of the message that has its id. */
function placeResult(draft: Draft, result: ToolMessage, own: number | undefined, report: Report): void {
  const former = own === undefined ? undefined : draft.at(own);
  if (former === result) return;
  if (
    own !== undefined &&
    former !== undefined &&
    isResult(former) &&
    callIdOf(former) === callIdOf(result)
  ) {
    fillSlot(draft, result, own, report);
    return;
  }
  const slot = findSlot(draft, result, own);
  if (slot === undefined) {
    report(createRepair({ kind: "orphan-refused", message: result }));
    return;
  }
  if (slot.kind === "taken" && isPlaceholder(result) && !isPlaceholderAt(draft, slot.position)) {
    report(createRepair({ kind: "placeholder-refused", message: result }));
    return;
  }
  if (former !== undefined) removeMessage(draft, former.id ?? "", report);
  if (slot.kind === "taken") fillSlot(draft, result, slot.position, report);
  else draft.insert(slot.position, identify(draft, result, slot.position));
}

function isPlaceholderAt(draft: Draft, position: number): boolean {
  const message = draft.at(position);
  return message !== undefined && isPlaceholder(message);
}

/** Replaces the result at a position by another one for the same call. */
function fillSlot(draft: Draft, result: ToolMessage, position: number, report: Report): void {
  const former = draft.at(position);
  if (former === undefined || !isResult(former)) return;
  if (isPlaceholder(result) && !isPlaceholder(former)) {
    report(createRepair({ kind: "placeholder-refused", message: result }));
    return;
  }
  const isTaken = (id: string) => id !== former.id && draft.find(id) !== undefined;
  const by = hasId(result)
    ? result
    : copyMessage(result, { id: deriveUnusedId(result, draft.idBefore(position), isTaken) });
  draft.replace(position, by);
  if (isPlaceholder(former) && !isPlaceholder(by)) {
    report(createRepair({ kind: "placeholder-replaced", message: former, by }));
  } else if (former.id !== by.id) {
    report(createRepair({ kind: "result-replaced", message: former, by }));
  }
}
