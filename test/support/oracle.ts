/**
 * The numbered rules of the reducer, written as simply and slowly as possible. For each message, the complete history
 * is read into groups, one rule is applied, and the groups are written out again.
 *
 * It uses three functions of `src/history`, so it cannot check them: `coerceMessage` (the values of an update),
 * `deriveUnusedId` (the ids of messages without one) and `coverageOf` (what a summary covers). Other tests check them:
 * `reading.test.ts` and `marks.test.ts`.
 */

import { BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { deriveUnusedId } from "../../src/history/message.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { coverageOf } from "../../src/history/summary.js";
import { answeredIdOf, callIdsOf } from "./strict-check.js";

interface Slot {
  readonly callId: string;
  /** Whether a summary archived the call together with its result. Such a call does not wait for another one. */
  readonly isAnswered: boolean;
  result: ToolMessage | undefined;
}

/** A message that is not a result, with a slot for the result of each of its calls. */
interface Block {
  head: BaseMessage;
  slots: Slot[];
}

export function reduceByTheRules(state: readonly BaseMessage[], values: readonly unknown[]): BaseMessage[] {
  let messages = [...state];
  for (const value of values) {
    const message = coerceMessage(value);
    if (message === undefined) continue;
    messages = write(apply(read(messages), message));
    // A chunk is stored as another object.
    const isChunk = message !== value && BaseMessage.isInstance(value);
    if (isChunk && !value.id && message.id) Object.assign(value, { id: message.id });
  }
  return messages;
}

function apply(blocks: Block[], given: BaseMessage): Block[] {
  if (given.type === "remove") {
    return given.id === REMOVE_ALL_MESSAGES ? [] : withoutId(blocks, given.id);
  }
  if (isResult(given)) return placeResult(blocks, given);
  const former = write(blocks).find(({ id }) => id === given.id);
  const message = withStoredMarks(withoutPlace(given), former);
  const placed = hasId(blocks, message.id)
    ? replace(blocks, message)
    : place(blocks, message, namedPlace(given));
  return archive(placed, message, former);
}

const MARKS = [
  "tether_placeholder",
  "tether_outcome",
  "tether_ends_run",
  "tether_coverage",
  "tether_recovered",
  "lc_source",
];

/** Rule 5: an edited summary keeps its marks, and so does any message that is written again without a change. */
function withStoredMarks<T extends BaseMessage>(message: T, former: BaseMessage | undefined): T {
  const marksOf = ({ additional_kwargs }: BaseMessage) =>
    Object.entries(additional_kwargs ?? {}).filter(([name]) => MARKS.includes(name));
  if (former?.type !== message.type || marksOf(message).length > 0) return message;
  const marks = Object.fromEntries(marksOf(former));
  const isSame = JSON.stringify(message.content) === JSON.stringify(former.content);
  if (Object.keys(marks).length === 0 || !(isSame || "tether_coverage" in marks)) return message;
  return withFields(message, { additional_kwargs: { ...message.additional_kwargs, ...marks } });
}

function withFields<T extends BaseMessage>(message: T, fields: Partial<BaseMessage>): T {
  const copy: T = Object.create(Object.getPrototypeOf(message));
  return Object.assign(copy, message, fields, { lc_kwargs: { ...message.lc_kwargs, ...fields } });
}

// Reading and writing.

function isResult(message: BaseMessage): message is ToolMessage {
  return message.type === "tool";
}

function isPlaceholder(message: BaseMessage): boolean {
  return message.additional_kwargs?.["tether_placeholder"] !== undefined;
}

/** The ids of the calls whose results can follow a message. */
function expectedCalls(message: BaseMessage): readonly string[] {
  const coverage = coverageOf(message);
  return coverage?.kind === "archive" ? coverage.calls : callIdsOf(message);
}

function blockOf(head: BaseMessage): Block {
  const coverage = coverageOf(head);
  const unanswered = coverage?.kind === "archive" ? coverage.unanswered : undefined;
  const isAnswered = (callId: string) => unanswered !== undefined && !unanswered.includes(callId);
  const slotOf = (callId: string) => ({ callId, isAnswered: isAnswered(callId), result: undefined });
  return { head, slots: expectedCalls(head).map(slotOf) };
}

/** Each result answers the earliest call after the call of the result before it. */
function read(messages: readonly BaseMessage[]): Block[] {
  const blocks: Block[] = [];
  let next = 0;
  for (const message of messages) {
    if (!isResult(message)) {
      blocks.push(blockOf(message));
      next = 0;
      continue;
    }
    const slots = blocks.at(-1)?.slots ?? [];
    const index = slots.findIndex((slot, at) => at >= next && slot.callId === answeredIdOf(message));
    const slot = slots[index];
    if (slot === undefined) throw new Error("The oracle was given a state that is not in normal form");
    slot.result = message;
    next = index + 1;
  }
  return blocks;
}

function write(blocks: readonly Block[]): BaseMessage[] {
  return blocks.flatMap(({ head, slots }) => [head, ...slots.flatMap(({ result }) => result ?? [])]);
}

function hasId(blocks: readonly Block[], id: string | undefined): boolean {
  return id !== undefined && id !== "" && write(blocks).some((message) => message.id === id);
}

/**
 * Rules 1 and 9: a new message without an id gets an id that is derived from its place. The id is written into the
 * message, or into a copy if the message is frozen.
 */
function identify(blocks: Block[], message: BaseMessage): Block[] {
  if (typeof message.id === "string" && message.id !== "") return blocks;
  const isTaken = (id: string) => write(blocks).some((other) => other !== message && other.id === id);
  const id = deriveUnusedId(message, placeOf(blocks, message), isTaken);
  const identified = Object.isFrozen(message)
    ? Object.assign(Object.create(Object.getPrototypeOf(message)), message)
    : message;
  Object.assign(identified, { id, lc_kwargs: { ...message.lc_kwargs, id } });
  for (const block of blocks) {
    if (block.head === message) block.head = identified;
    for (const slot of block.slots) if (slot.result === message) slot.result = identified;
  }
  return blocks;
}

/** For a result its call; for a message at the end the last message; for any other message its neighbours. */
function placeOf(blocks: readonly Block[], message: BaseMessage): string {
  for (const { head, slots } of blocks) {
    const call = slots.findIndex(({ result }) => result === message);
    if (call >= 0) return `${head.id}:${call}`;
  }
  const index = blocks.findIndex(({ head }) => head === message);
  const before = blocks.slice(0, index);
  const next = blocks[index + 1];
  if (next === undefined) return write(before).at(-1)?.id ?? "";
  return `${before.at(-1)?.head.id ?? ""}\n${next.head.id}`;
}

// Rule 4.

function withoutId(blocks: Block[], id: string | undefined): Block[] {
  for (const { slots } of blocks) {
    for (const slot of slots) if (slot.result?.id === id) slot.result = undefined;
  }
  return blocks.filter(({ head }) => head.id !== id);
}

// Rule 5, for a message that is not a result.

function replace(blocks: Block[], message: BaseMessage): Block[] {
  const index = blocks.findIndex(({ head }) => head.id === message.id);
  const former = blocks[index];
  const replacement = blockOf(message);
  if (former === undefined) {
    const group = blocks.findIndex(({ slots }) => slots.some(({ result }) => result?.id === message.id));
    return withoutId(blocks, message.id).toSpliced(group + 1, 0, replacement);
  }
  for (const slot of replacement.slots) {
    const sameCall = former.slots.find(({ callId }) => callId === slot.callId);
    if (sameCall === undefined) continue;
    slot.result = sameCall.result;
    former.slots.splice(former.slots.indexOf(sameCall), 1);
  }
  return blocks.with(index, replacement);
}

// Rules 6 and 7.

function placeResult(blocks: Block[], given: ToolMessage): Block[] {
  const own = blocks.flatMap(({ slots }) => slots).find((slot) => given.id && slot.result?.id === given.id);
  const isOwn = own?.callId === answeredIdOf(given);
  const result = !isOwn && hasId(blocks, given.id) ? withFields(given, { id: "" }) : given;
  const slot = isOwn ? own : chooseSlot(blocks, result);
  if (slot === undefined) return blocks;
  const marked = slot === own ? withStoredMarks(result, own.result) : result;
  if (isPlaceholder(marked) && slot.result !== undefined && !isPlaceholder(slot.result)) return blocks;
  slot.result = marked;
  return identify(blocks, marked);
}

function chooseSlot(blocks: readonly Block[], result: ToolMessage): Slot | undefined {
  const nearestFirst = blocks
    .toReversed()
    .flatMap(({ slots }) => slots)
    .filter(({ callId }) => callId === answeredIdOf(result));
  const isFree = (slot: Slot) =>
    slot.result === undefined ? !slot.isAnswered : isPlaceholder(slot.result) && !isPlaceholder(result);
  return nearestFirst.find(isFree) ?? nearestFirst[0];
}

// Rule 8, and the append.

function place(blocks: Block[], message: BaseMessage, after: string | undefined): Block[] {
  const coverage = coverageOf(message);
  const index =
    coverage === undefined ? placeOfRecovered(blocks, after) : placeOfSummary(blocks, coverage.messages);
  return identify(blocks.toSpliced(index, 0, blockOf(message)), message);
}

// Rule 12.

function namedPlace(message: BaseMessage): string | undefined {
  const { after } = Object(message.additional_kwargs?.["tether_recovered"]);
  return typeof after === "string" ? after : undefined;
}

/** The stored mark names no place. */
function withoutPlace(message: BaseMessage): BaseMessage {
  if (namedPlace(message) === undefined) return message;
  return withFields(message, {
    additional_kwargs: { ...message.additional_kwargs, tether_recovered: {} },
  });
}

function placeOfRecovered(blocks: readonly Block[], after: string | undefined): number {
  if (after === "") return 0;
  const index = blocks.findIndex((block) => write([block]).some(({ id }) => id === after));
  return index < 0 ? blocks.length : index + 1;
}

function placeOfSummary(blocks: readonly Block[], covered: readonly string[]): number {
  const last = blocks.findLastIndex((block) => write([block]).some(({ id }) => covered.includes(id ?? "")));
  if (last >= 0) return last + 1;
  const first = blocks.findIndex(({ head }) => head.type !== "system");
  return first < 0 ? blocks.length : first;
}

/**
 * The messages that the summary names leave the history. Results of their calls that it does not name are placed again.
 * If a summary replaces an earlier one, it archives only the messages that the earlier one did not name. The others
 * have already left.
 */
function archive(blocks: Block[], summary: BaseMessage, former: BaseMessage | undefined): Block[] {
  const named = namedBy(summary).filter((id) => id !== summary.id && !namedBy(former).includes(id));
  const isNamed = (message: BaseMessage) => named.includes(message.id ?? "");
  const homeless: ToolMessage[] = [];
  const inOrderOfNames = blocks.toSorted(
    (one, other) => named.indexOf(one.head.id ?? "") - named.indexOf(other.head.id ?? ""),
  );
  for (const { head, slots } of inOrderOfNames) {
    for (const slot of slots) {
      if (slot.result === undefined || !(isNamed(head) || isNamed(slot.result))) continue;
      if (!isNamed(slot.result)) homeless.push(slot.result);
      slot.result = undefined;
    }
  }
  const left = blocks.filter(({ head }) => !isNamed(head));
  return homeless.reduce((rest, result) => placeResult(read(write(rest)), result), left);
}

function namedBy(message: BaseMessage | undefined): readonly string[] {
  const coverage = message === undefined ? undefined : coverageOf(message);
  return coverage?.kind === "archive" ? coverage.messages : [];
}
