/**
 * The reducer of the messages channel: a left fold of single messages over a history.
 *
 *     reduce(reduce(history, xs), ys) = reduce(history, [...xs, ...ys])
 *
 *  1. It accepts what `messagesStateReducer` accepts. Chunks are stored as their non-chunk class. A missing
 *     id is derived from the messages before it and from its content, so a replay gives the same ids.
 *  2. The equation above holds without exception.
 *  3. It never throws. A value that is not a message is dropped and reported.
 *  4. A `RemoveMessage` is resolved at its place in the update and is never stored. Removing a message with
 *     calls removes their results. Removing an unknown id changes nothing. `REMOVE_ALL_MESSAGES` removes
 *     everything before it, in the history and in the update.
 *  5. A message whose id is in the history replaces that message in place. If calls are lost that way, their
 *     results are removed.
 *  6. A result is placed directly after its message, in call order. The call that it answers is, in this
 *     order: the call of the stored result with the same message id; the nearest call of its call id without
 *     a result or with only a placeholder; the nearest call of its call id, whose earlier result it replaces.
 *     A placeholder never replaces a real result.
 *  7. A result without such a call is refused and reported with the complete message. A call that an archived
 *     summary covers counts: its result is kept directly after the summary.
 *  8. A new summary is placed after the last message that it covers, or else after the leading system
 *     messages. The messages that it archives, and no others, leave the history in the same step.
 *  9. Nothing is mutated. An untouched message keeps its identity, and so does the array if nothing changed.
 * 10. A history that is not in this form is brought into it first.
 * 11. An append costs one copy of the array, and work for the new messages only.
 */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { callsAnsweredAfter } from "../calls/group.js";
import type { Call } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";
import { withStoredMarks } from "../messages/marks.js";
import { deriveUnusedId } from "../messages/message-id.js";
import { listOf, readMessage } from "../messages/read-messages.js";
import { REMOVE_ALL_MESSAGES } from "../messages/remove-all-messages.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { callIdOf, isPlaceholder, isResult } from "../messages/result.js";
import { coverageOf } from "../messages/summary.js";
import { Draft } from "./draft.js";
import { endOfGroup, findSlot, type PlacedGroup, readGroup, refit } from "./draft-group.js";
import { normalizeHistory } from "./normalize-history.js";

/** What `reduceMessages` returns. */
export interface ReducedMessages {
  /** The history after the update; the same array if nothing changed. */
  readonly messages: BaseMessage[];
  /** What was done beyond the update's request, in order. */
  readonly repairs: readonly Repair[];
}

type Report = (repair: Repair) => void;

/**
 * Applies an update to a history, and keeps each tool call paired with its result. Each message of the update
 * is added, replaces the message with its id, or removes one. A late result is placed at its call. Pure, and
 * never throws.
 *
 * @param history A history, or any list that was stored as one; undefined counts as empty.
 * @param update One message-like or several.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { reduceMessages } from "langgraph-tether";
 *
 * const history = [
 *   new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *   new HumanMessage("Are you there?"),
 * ];
 * const { messages } = reduceMessages(history, new ToolMessage({ tool_call_id: "c1", content: "18 °C" }));
 * console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human' ]
 * ```
 */
export function reduceMessages(history: unknown, update: unknown): ReducedMessages {
  const repairs: Repair[] = [];
  const report: Report = (repair) => repairs.push(repair);
  const draft = new Draft(normalizeHistory(listOf(history), report));
  for (const value of listOf(update)) {
    const message = readMessage(value, report);
    if (message !== undefined) applyMessage(draft, message, report);
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

/** Gives the message an id, derived for the place before the message that is now at `position`. */
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

/** Applies rule 8 to a summary. Appends any other message. */
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
 * Everything that a new summary names leaves the history. A summary that replaces another one removes only what
 * the other one did not name, because the rest may have come back since. A result of an archived call that the
 * summary does not name arrived meanwhile. It stays, after the summary.
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
  const unnamedResults: ToolMessage[] = [];
  for (const id of covered) {
    const position = draft.find(id);
    if (position === undefined || id === summary.id) continue;
    for (const at of readGroup(draft, position).positions) {
      const result = draft.at(at);
      if (result === undefined || !isResult(result) || covered.has(result.id ?? "")) continue;
      unnamedResults.push(result);
      draft.remove(at);
    }
    draft.remove(position);
  }
  for (const result of unnamedResults) placeResult(draft, result, undefined, report);
}

/** Applies rule 5 to a message that is not a result. */
function replaceMessage(draft: Draft, given: BaseMessage, position: number, report: Report): void {
  const former = draft.at(position);
  if (former === given) return;
  const message = withStoredMarks(given, former);
  if (former !== undefined && isResult(former)) {
    // A group can contain only results, so the new message goes after the group.
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

/** Applies rules 6 and 7. `own` is the position of the stored message with the same id. */
function placeResult(draft: Draft, result: ToolMessage, own: number | undefined, report: Report): void {
  const former = own === undefined ? undefined : draft.at(own);
  if (former === result) return;
  if (
    own !== undefined &&
    former !== undefined &&
    isResult(former) &&
    callIdOf(former) === callIdOf(result)
  ) {
    fillSlot(draft, withStoredMarks(result, former), own, report);
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

/** Replaces the result at a position with another result of the same call. */
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
