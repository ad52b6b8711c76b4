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
 *     order: the call of the stored result with the same message id, if it has the same call id; the nearest call of its
 *     call id without a result or with only a placeholder; the nearest call of its call id, whose earlier result it
 *     replaces. A placeholder never replaces a real result. A result whose message id belongs to any other stored
 *     message is a new one, and its id is derived.
 *  7. A result without such a call is refused and reported with the complete message. A call that an archived
 *     summary covers counts: its result is kept directly after the summary.
 *  8. A new summary is placed after the last message that it covers, or else after the leading system
 *     messages. The messages that it archives, and no others, leave the history in the same step.
 *  9. A missing id is written into the given message, as LangGraph's reducer does; a frozen message is copied.
 *     So a message that is sent again is the same message. Nothing else is mutated. An untouched message keeps
 *     its identity, and so does the array if nothing changed.
 * 10. A history that is not in this form is brought into it first.
 * 11. An append to a list that this reducer made costs one copy of the array, and work for the new messages only.
 *     Any other update costs one pass over the history, and work for its messages. Three kinds of messages can cost one
 *     pass each, if an update mixes many of them with others: an edit that changes calls, the removal of a result
 *     whose call id repeats, and a summary of several messages.
 * 12. A new message with the mark of a recovered message is placed after the group of the message that the mark
 *     names, or first if it names none. If that message is not in the history, it is appended.
 */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { indexesById } from "../call.js";
import { callsAnsweredAfter, placeOfCall, type Slot } from "../group.js";
import { withStoredMarks } from "../marks.js";
import { copyMessage, deriveUnusedId, REMOVE_ALL_MESSAGES } from "../message.js";
import { isMessage, listOf, readMessage } from "../read-messages.js";
import { createRepair, type NoteRepair, type Repair } from "../repair.js";
import { callIdOf, isPlaceholder, isResult, recoveredAfter, withoutPlace } from "../result.js";
import { archiveOf, coverageOf } from "../summary.js";
import { Draft, type DraftGroup, type DraftPlace } from "./draft.js";
import { hasId, identify, normalizeHistory } from "./normalize-history.js";

/** What `reduceMessages` returns. */
export interface ReducedMessages {
  /** The history after the update; the same array if nothing changed. */
  readonly messages: BaseMessage[];
  /** What was done beyond the update's request, in order. */
  readonly repairs: readonly Repair[];
}

/**
 * Applies an update to a history, and keeps each tool call paired with its result. Each message of the update is added,
 * replaces the message with its id, or removes one. A late result is placed at its call. Never throws. It changes no
 * argument, except that it writes missing ids into the update's messages.
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
  const report: NoteRepair = (repair) => repairs.push(repair);
  const draft = new Draft(normalizeHistory(listOf(history), report), report);
  for (const value of listOf(update)) {
    const message = readMessage(value, report);
    if (message === undefined) continue;
    applyMessage(draft, message);
    // A chunk is stored as another object.
    if (message !== value && hasId(message) && isMessage(value) && !hasId(value)) identify(value, message.id);
  }
  return { messages: draft.finish(), repairs };
}

function applyMessage(draft: Draft, given: BaseMessage): void {
  const message = withStoredId(withoutPlace(given));
  if (RemoveMessage.isInstance(message)) {
    if (message.id === REMOVE_ALL_MESSAGES) draft.clear();
    else removeMessage(draft, message.id ?? "");
    return;
  }
  const place = hasId(message) ? draft.find(message.id) : undefined;
  if (isResult(message)) placeResult(draft, message, place);
  else if (place !== undefined) replaceMessage(draft, message, place);
  else placeMessage(draft, message, recoveredAfter(given));
}

/** An id that was set later is not stored with its message: LangChain stores what the constructor got. */
function withStoredId(message: BaseMessage): BaseMessage {
  return hasId(message) && message.lc_kwargs?.["id"] !== message.id ? identify(message, message.id) : message;
}

/** Applies rule 4. */
function removeMessage(draft: Draft, id: string): void {
  const { group, call } = draft.find(id) ?? {};
  if (group === undefined) draft.report(createRepair({ kind: "removal-ignored", id }));
  else if (call !== undefined) draft.setResult({ group, call }, undefined);
  else {
    reportRemoved(draft, group.results);
    draft.removeGroup(group);
  }
}

function reportRemoved(draft: Draft, results: readonly (ToolMessage | undefined)[]): void {
  for (const message of results)
    if (message !== undefined) draft.report(createRepair({ kind: "result-removed", message }));
}

/** Applies rule 5 to a message that is not a result. */
function replaceMessage(draft: Draft, given: BaseMessage, { group, call }: DraftPlace): void {
  const former = call === undefined ? group.head : group.results[call];
  if (former === given) return;
  const message = withStoredMarks(given, former);
  if (call === undefined) {
    refillGroup(draft, group, message);
  } else {
    // A group can contain only results, so the new message goes after the group.
    draft.setResult({ group, call }, undefined);
    draft.insertAfter(group, message);
  }
  archiveCovered(draft, message, former);
}

/** The n-th call with an id keeps the result of the former n-th call with that id. */
function refillGroup(draft: Draft, group: DraftGroup, head: BaseMessage): void {
  const results = draft.resultsOf(group);
  const waiting = indexesById(group.calls);
  const calls = callsAnsweredAfter(head);
  const kept = calls.flatMap(({ id }) => results[waiting.get(id)?.pop() ?? -1] ?? []);
  for (const lost of waiting.values())
    reportRemoved(
      draft,
      lost.reverse().map((index) => results[index]),
    );
  draft.replaceGroup(group, head, kept);
}

/** Applies rules 6 and 7. `own` is the place of the stored message with the same id. */
function placeResult(draft: Draft, given: ToolMessage, own: DraftPlace | undefined): void {
  const callId = callIdOf(given);
  const former = own?.call === undefined ? undefined : own.group.results[own.call];
  if (former === given) return;
  if (own?.call !== undefined && own.group.calls[own.call]?.id === callId) {
    fillSlot(draft, withStoredMarks(given, former), { group: own.group, call: own.call });
    return;
  }
  // The stored message stays: a tool or a cache can give several results the same id.
  const result = own === undefined ? given : copyMessage(given, { id: "" });
  const isStandIn = isPlaceholder(result);
  const slot = draft.findSlot(callId, isStandIn ? "empty" : "open") ?? draft.findSlot(callId, "any");
  if (slot === undefined) {
    draft.report(createRepair({ kind: "orphan-refused", message: given }));
    return;
  }
  const message = fillSlot(draft, result, slot);
  if (own !== undefined && message !== undefined)
    draft.report(createRepair({ kind: "id-derived", message, previousId: given.id }));
}

/** Returns the stored result. Undefined if it is refused, because a placeholder never replaces a result. */
function fillSlot(draft: Draft, result: ToolMessage, slot: Slot<DraftGroup>): ToolMessage | undefined {
  const { group, call } = slot;
  const former = group.results[call];
  if (former !== undefined && isPlaceholder(result) && !isPlaceholder(former)) {
    draft.report(createRepair({ kind: "placeholder-refused", message: result }));
    return undefined;
  }
  const by = withId(draft, result, placeOfCall(group, call), former?.id);
  draft.setResult(slot, by);
  if (former !== undefined && isPlaceholder(former) && !isPlaceholder(by)) {
    draft.report(createRepair({ kind: "placeholder-replaced", message: former, by }));
  } else if (former !== undefined && former.id !== by.id) {
    draft.report(createRepair({ kind: "result-replaced", message: former, by }));
  }
  return by;
}

/**
 * Applies rule 8 to a summary and rule 12 to a recovered message. Appends any other message.
 *
 * @param after The message that a recovered message follows.
 */
function placeMessage(draft: Draft, message: BaseMessage, after: string | undefined): void {
  const before = groupBefore(draft, message, after);
  if (before === undefined) {
    draft.append(withId(draft, message, draft.lastId()));
    return;
  }
  const previous = before === "start" ? undefined : before;
  const next = previous === undefined ? draft.first() : previous.next;
  const place = next === undefined ? draft.lastId() : `${previous?.head.id ?? ""}\n${next.head.id ?? ""}`;
  draft.insertAfter(previous, withId(draft, message, place));
  archiveCovered(draft, message, undefined);
}

/** The group that a new message follows if it is not appended. `"start"`: none, because it is the history's first. */
function groupBefore(
  draft: Draft,
  message: BaseMessage,
  after: string | undefined,
): DraftGroup | "start" | undefined {
  const coverage = coverageOf(message);
  if (coverage !== undefined) {
    const covered = coverage.messages.flatMap((id) => draft.find(id)?.group ?? []);
    return draft.lastOf(new Set(covered)) ?? lastLeadingSystem(draft) ?? "start";
  }
  if (after === undefined) return undefined;
  return after === "" ? "start" : draft.find(after)?.group;
}

function lastLeadingSystem(draft: Draft): DraftGroup | undefined {
  let system: DraftGroup | undefined;
  for (let next = draft.first(); next?.head.type === "system"; next = next.next) system = next;
  return system;
}

/**
 * Everything that a new summary names leaves the history. If it replaces another summary, only what that one did not
 * name leaves, because the rest may have come back since. A result of an archived call that the summary does not name
 * arrived meanwhile. It stays, after the summary.
 */
function archiveCovered(draft: Draft, summary: BaseMessage, former: BaseMessage | undefined): void {
  const archived = archiveOf(summary);
  if (archived === undefined) return;
  const alreadyArchived = new Set(archiveOf(former)?.messages);
  const covered = new Set(archived.messages.filter((id) => !alreadyArchived.has(id)));
  const unnamedResults: ToolMessage[] = [];
  for (const id of covered) {
    const place = id === summary.id ? undefined : draft.find(id);
    if (place === undefined) continue;
    const { group, call } = place;
    if (call !== undefined) {
      draft.setResult({ group, call }, undefined);
      continue;
    }
    for (const result of group.results)
      if (result !== undefined && !covered.has(result.id ?? "")) unnamedResults.push(result);
    draft.removeGroup(group);
  }
  for (const result of unnamedResults) placeResult(draft, result, undefined);
}

/**
 * Gives a message without an id one that is derived from its place. `ownId` is the id of the message that it replaces,
 * which is free again.
 */
function withId<T extends BaseMessage>(draft: Draft, message: T, place: string, ownId?: string): T {
  if (hasId(message)) return message;
  const isTaken = (id: string) => id !== ownId && draft.has(id);
  return identify(message, deriveUnusedId(message, place, isTaken));
}
