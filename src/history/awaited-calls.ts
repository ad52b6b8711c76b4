/** The closed calls of a history whose tools may still return. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { addToList } from "../shared/values.js";
import { deriveId } from "./message.js";
import { type AwaitedCall, awaitedCallOf, callIdOf, isPlaceholder, isResult } from "./result.js";
import { type ArchivedCall, archiveOf, isUserMessage } from "./summary.js";

/**
 * A result is awaited for this many turns, with the one of its placeholder, whatever was summarised since. A later one
 * is only reported by an event.
 */
const MOST_TURNS = 8;

interface Awaited extends AwaitedCall {
  /** How many user messages came after the placeholder. */
  readonly turns: number;
  /** The message that has the placeholder or, for an archived call, the summary that names it. */
  readonly holder: BaseMessage;
}

/** The awaited calls, in the order of the history. */
export function awaitedCalls(messages: readonly BaseMessage[]): Awaited[] {
  const awaited: Awaited[] = [];
  let turns = 0;
  for (let index = messages.length - 1; index >= 0 && turns < MOST_TURNS; index -= 1) {
    const holder = messages[index];
    if (holder === undefined) continue;
    const held: readonly ArchivedCall[] = archiveOf(holder)?.awaited ?? [awaitedCallOf(holder) ?? []].flat();
    const since = held.map(({ turns: before = 0, ...call }) => ({ ...call, turns: before + turns, holder }));
    for (const call of since.toReversed()) if (call.turns < MOST_TURNS) awaited.push(call);
    if (isUserMessage(holder)) turns += 1;
  }
  return awaited.reverse();
}

/**
 * The calls that a summary archives and still awaits.
 *
 * @param leaving The messages that leave the history.
 * @param lateResults The results among these that came after an earlier summary had covered their calls.
 */
export function awaitedAmong(
  leaving: readonly BaseMessage[],
  lateResults: readonly ToolMessage[],
  history: readonly BaseMessage[],
): ArchivedCall[] {
  const leaves = new Set(leaving);
  const end = history.findLastIndex((message) => leaves.has(message)) + 1;
  const awaited = awaitedCalls(history.slice(0, end)).filter(({ holder }) => leaves.has(holder));
  if (awaited.length === 0) return [];
  const isLate = new Set<BaseMessage>(lateResults);
  const byCallId = new Map<string, Awaited[]>();
  for (const call of awaited) addToList(byCallId, call.callId, call);
  for (const result of leaving) {
    if (!isResult(result) || isPlaceholder(result)) continue;
    const calls = byCallId.get(callIdOf(result)) ?? [];
    const own = calls.findIndex(({ place }) => result.id === lateResultId(result, place));
    // A client can also give a result, under any id.
    const index = own < 0 && isLate.has(result) ? calls.length - 1 : own;
    if (index >= 0) calls.splice(index, 1);
  }
  const left = new Set([...byCallId.values()].flat());
  return awaited.filter((call) => left.has(call)).map(({ holder: _, ...call }) => call);
}

/** The id of a result whose placeholder a summary covers. @param place The call's place. */
export function lateResultId(result: ToolMessage, place: string): string {
  return deriveId(result, place);
}
