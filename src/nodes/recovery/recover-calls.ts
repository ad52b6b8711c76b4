import type { ToolMessage } from "@langchain/core/messages";
import type { Group } from "../../history/calls/group.js";
import type { UnansweredCall } from "../../history/calls/open-calls.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/messages/result.js";
import { addToList } from "../../shared/add-to-list.js";
import type { AskedCall } from "./asked-calls.js";
import type { Leftovers } from "./leftovers.js";

/** The finding for a call: the result of its tool, or the pending question to a human. */
export type Remains =
  | { readonly kind: "result"; readonly result: ToolMessage }
  | { readonly kind: "question"; readonly asked: AskedCall };

/** What is read of the leftovers of a run. Of its history, only the ids. */
export interface CallLeftovers extends Pick<Leftovers, "written" | "questions"> {
  readonly history: readonly { readonly id?: string | undefined }[];
}

/** The findings for the given calls, in the same order. Undefined where nothing was found. */
export function recoverCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly CallLeftovers[],
): (Remains | undefined)[] {
  const found = new Array<Remains | undefined>(calls.length).fill(undefined);
  for (const { history, written, questions } of leftovers.toReversed()) {
    const known = new Set([...history, ...written].map(({ id }) => id));
    const results = written.filter(isResult).filter((result) => !isPlaceholder(result));
    fillInOrder(found, calls, known, [...results.map(toResult), ...questions.map(toQuestion)]);
  }
  return found;
}

interface Found {
  readonly callId: string;
  readonly remains: Remains;
}

function toResult(result: ToolMessage): Found {
  return { callId: callIdOf(result), remains: { kind: "result", result } };
}

function toQuestion(asked: AskedCall): Found {
  return { callId: asked.id, remains: { kind: "question", asked } };
}

/**
 * The writes of a checkpoint belong to the last group of its history. So among equal ids, the latest call gets the
 * result.
 *
 * @param known The ids of the messages that the ended run knew.
 */
function fillInOrder(
  found: (Remains | undefined)[],
  calls: readonly UnansweredCall[],
  known: ReadonlySet<string | undefined>,
  written: readonly Found[],
): void {
  /** For each id, what was written for it, the first one last. */
  const waiting = new Map<string, Remains[]>();
  for (const { callId, remains } of written.toReversed()) addToList(waiting, callId, remains);
  const places = new Map<Group, number[]>();
  for (const [index, { group }] of calls.entries()) addToList(places, group, index);
  for (const [{ head }, indexes] of [...places].reverse()) {
    if (!known.has(head.id)) continue;
    for (const index of indexes) found[index] ??= waiting.get(calls[index]?.call.id ?? "")?.pop();
  }
}
