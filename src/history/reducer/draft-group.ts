/** Finds the groups of a draft, by position. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { callsAnsweredAfter } from "../calls/group.js";
import type { Call } from "../messages/call.js";
import { callIdOf, isPlaceholder, isResult } from "../messages/result.js";
import type { Draft } from "./draft.js";

export interface PlacedGroup {
  readonly calls: readonly Call[];
  /** The positions of the results, in order. */
  readonly positions: readonly number[];
  /** The position of each call's result. */
  readonly slots: readonly (number | undefined)[];
  /** One more than the last position of the group. */
  readonly end: number;
}

/**
 * Where a result goes. `"empty"`: it is inserted before the message at the position. `"taken"`: it replaces
 * the message there.
 */
export type Slot = { readonly kind: "empty" | "taken"; readonly position: number };

export function readGroup(draft: Draft, head: number): PlacedGroup {
  const message = draft.at(head);
  const calls = message === undefined ? [] : callsAnsweredAfter(message);
  const positions: number[] = [];
  const slots = new Array<number | undefined>(calls.length).fill(undefined);
  let end = head + 1;
  if (calls.length === 0) return { calls, positions, slots, end };
  let nextCall = 0;
  for (let position = head + 1; position < draft.length; position += 1) {
    const result = draft.at(position);
    if (result === undefined) continue;
    if (!isResult(result)) break;
    // Results are stored in call order, so each result answers a call after the one that the previous result
    // answered.
    while (nextCall < calls.length && calls[nextCall]?.id !== callIdOf(result)) nextCall += 1;
    slots[nextCall] = position;
    nextCall += 1;
    positions.push(position);
    end = position + 1;
  }
  return { calls, positions, slots, end };
}

/** One more than the last position of the group that contains the message at `position`. */
export function endOfGroup(draft: Draft, position: number): number {
  let end = position + 1;
  for (let next = end; next < draft.length; next += 1) {
    const message = draft.at(next);
    if (message === undefined) continue;
    if (!isResult(message)) break;
    end = next + 1;
  }
  return end;
}

/**
 * The slot for a result. This is the nearest call of its id that has no result or only a placeholder. If
 * there is none, it is the nearest call of its id, even if that call's result was archived with it. The
 * message at `except` is about to be replaced by the result, so it cannot hold the call.
 */
export function findSlot(draft: Draft, result: ToolMessage, except: number | undefined): Slot | undefined {
  const id = callIdOf(result);
  let taken: Slot | undefined;
  for (let head = draft.length - 1; head >= 0; head -= 1) {
    const message = draft.at(head);
    if (message === undefined || head === except || !hasCall(message, id)) continue;
    const group = readGroup(draft, head);
    for (const [index, call] of group.calls.entries()) {
      if (call.id !== id) continue;
      const position = group.slots[index];
      if (position === undefined) {
        const empty: Slot = { kind: "empty", position: placeOfSlot(group, head, index) };
        if (call.kind !== "answered") return empty;
        taken ??= empty;
        continue;
      }
      const occupant = draft.at(position);
      if (occupant !== undefined && isPlaceholder(occupant) && !isPlaceholder(result))
        return { kind: "taken", position };
      taken ??= { kind: "taken", position };
    }
  }
  return taken;
}

function hasCall(message: BaseMessage, id: string): boolean {
  return callsAnsweredAfter(message).some((call) => call.id === id);
}

/** The position after the results of the earlier calls. */
function placeOfSlot(group: PlacedGroup, head: number, index: number): number {
  for (let before = index - 1; before >= 0; before -= 1) {
    const position = group.slots[before];
    if (position !== undefined) return position + 1;
  }
  return head + 1;
}

/**
 * When a message is edited: which results still answer one of its calls, in call order, and which lost
 * theirs. The n-th call of an id keeps the result of the former n-th call of that id.
 */
export function refit(
  draft: Draft,
  former: PlacedGroup,
  calls: readonly Call[],
): { kept: readonly ToolMessage[]; lost: readonly ToolMessage[] } {
  const waiting = new Map<string, (ToolMessage | undefined)[]>();
  for (const [index, call] of former.calls.entries()) {
    const position = former.slots[index];
    const message = position === undefined ? undefined : draft.at(position);
    const result = message !== undefined && isResult(message) ? message : undefined;
    const sameId = waiting.get(call.id);
    if (sameId === undefined) waiting.set(call.id, [result]);
    else sameId.push(result);
  }
  const kept = calls.flatMap((call) => waiting.get(call.id)?.shift() ?? []);
  const lost = [...waiting.values()].flat().filter((result) => result !== undefined);
  return { kept, lost };
}
