/**
 * The reducer of the messages channel: a left fold of single messages over a history.
 *
 *     reduce(reduce(history, xs), ys) = reduce(history, [...xs, ...ys])
 *
 *  1. It accepts what `messagesStateReducer` accepts. Chunks are stored as their non-chunk class. A missing
 *     id is derived from the place of the message and from its content, so a replay gives the same ids.
 *  2. The equation above holds without exception.
 *  3. It never throws. A value that is not a message is dropped and reported.
 *  4. A `RemoveMessage` is resolved at its place in the update and is never stored. Removing a message with
 *     calls removes their results. Removing an unknown id changes nothing. `REMOVE_ALL_MESSAGES` removes
 *     everything before it, in the history and in the update.
 *  5. A message whose id is in the history replaces that message in place. If calls are lost that way, their
 *     results are removed. An edited summary keeps the marks of this library, and so does a message that is
 *     written again with the same content.
 *  6. A result is placed directly after its message, in call order. The call that it answers is, in this
 *     order: the call of the stored result with the same message id; the nearest call of its call id without
 *     a result or with only a placeholder; the nearest call of its call id, whose earlier result it replaces.
 *     A placeholder never replaces a real result.
 *  7. A result without such a call is refused and reported with the complete message. A call that an archived
 *     summary covers counts: its result is kept directly after the summary.
 *  8. A new summary is placed after the last message that it covers, or else after the leading system
 *     messages. The messages that it archives, and no others, leave the history in the same step.
 *  9. A missing id is written into the given message, as LangGraph's reducer does; a frozen message is copied.
 *     So a message that is sent again is the same message. Nothing else is mutated. An untouched message keeps
 *     its identity, and so does the array if nothing changed.
 * 10. A history that is not in this form is brought into it first.
 * 11. An append costs one copy of the array, and work for the new messages only. An update of n messages costs
 *     at most n log n steps and one pass over the history, whatever it holds.
 * 12. A new message with the mark of a recovered message is placed after the group of the message that the mark
 *     names, or first if it names none. If that message is not in the history, it is appended.
 */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { callsAnsweredAfter } from "../calls/group.js";
import { indexesById } from "../messages/call.js";
import { withStoredMarks } from "../messages/marks.js";
import { recoveredAfter, withoutPlace } from "../messages/recovered.js";
import { REMOVE_ALL_MESSAGES } from "../messages/remove-all-messages.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { isResult } from "../messages/result.js";
import { isMessage } from "../reading/coerce-message.js";
import { listOf, readMessage } from "../reading/read-messages.js";
import { changeOne } from "./change-one.js";
import { Draft, type Place } from "./draft.js";
import type { DraftGroup } from "./group-list.js";
import { hasId, identify } from "./identify.js";
import { normalizeHistory } from "./normalize-history.js";
import { archiveCovered, placeMessage } from "./place-message.js";
import { placeResult } from "./place-result.js";
import { type Report, removeAt, reportRemoved } from "./remove-message.js";

/** What `reduceMessages` returns. */
export interface ReducedMessages {
  /** The history after the update; the same array if nothing changed. */
  readonly messages: BaseMessage[];
  /** What was done beyond the update's request, in order. */
  readonly repairs: readonly Repair[];
}

/**
 * Applies an update to a history, and keeps each tool call paired with its result. Each message of the update
 * is added, replaces the message with its id, or removes one. A late result is placed at its call. Never throws.
 * It changes no argument, except that it writes a missing id into a message of the update.
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
  const known = normalizeHistory(listOf(history), report);
  const values = listOf(update);
  const draft = new Draft(known);
  for (const value of values) {
    const message = readMessage(value, report);
    if (message === undefined) continue;
    const changed = values.length === 1 ? changeOne(known, message, report) : undefined;
    if (changed !== undefined) return { messages: changed, repairs };
    applyMessage(draft, message, report);
    // A chunk is stored as another object.
    if (message !== value && hasId(message) && isMessage(value) && !hasId(value)) identify(value, message.id);
  }
  return { messages: draft.finish(), repairs };
}

function applyMessage(draft: Draft, given: BaseMessage, report: Report): void {
  const message = withoutPlace(given);
  if (RemoveMessage.isInstance(message)) {
    if (message.id === REMOVE_ALL_MESSAGES) draft.clear();
    else removeMessage(draft, message.id ?? "", report);
    return;
  }
  const place = hasId(message) ? draft.find(message.id) : undefined;
  if (isResult(message)) placeResult(draft, message, place, report);
  else if (place !== undefined) replaceMessage(draft, message, place, report);
  else placeMessage(draft, message, recoveredAfter(given), report);
}

function removeMessage(draft: Draft, id: string, report: Report): void {
  const place = draft.find(id);
  if (place === undefined) report(createRepair({ kind: "removal-ignored", id }));
  else removeAt(draft, place, report);
}

/** Applies rule 5 to a message that is not a result. */
function replaceMessage(draft: Draft, given: BaseMessage, place: Place, report: Report): void {
  const { group, call } = place;
  const former = call === undefined ? group.head : group.results[call];
  if (former === given) return;
  const message = withStoredMarks(given, former);
  if (call === undefined) {
    refillGroup(draft, group, message, report);
  } else {
    // A group can contain only results, so the new message goes after the group.
    draft.setResult({ group, call }, undefined);
    draft.insertAfter(group, message);
  }
  archiveCovered(draft, message, former, report);
}

/** The n-th call of an id keeps the result of the former n-th call of that id. */
function refillGroup(draft: Draft, group: DraftGroup, head: BaseMessage, report: Report): void {
  const results = draft.resultsOf(group);
  const waiting = indexesById(group.calls);
  const calls = callsAnsweredAfter(head);
  const kept = calls.flatMap(({ id }) => results[waiting.get(id)?.pop() ?? -1] ?? []);
  for (const lost of waiting.values())
    reportRemoved(
      lost.reverse().map((index) => results[index]),
      report,
    );
  draft.replaceGroup(group, head, calls, kept);
}
