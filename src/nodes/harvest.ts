/**
 * Finds results that tools had returned before their run ended. LangGraph has saved each finished task as a
 * pending write of the checkpoint that the run left behind; new input discards those writes, so they are read from
 * that checkpoint itself.
 */

import type { ToolMessage } from "@langchain/core/messages";
import type { CheckpointTuple } from "@langchain/langgraph";
import { coerceMessage } from "../history/coerce-message.js";
import { callIdOf, isPlaceholder, isResult } from "../history/result.js";
import type { UnansweredCall } from "./open-calls.js";
import type { RunHandle } from "./run-handle.js";

/** A run that died before it patched leaves one checkpoint; more than some of them in a row is another story. */
const CHECKPOINTS_TO_READ = 20;

/** The finished results of the given calls, each in its place; undefined where none was found. */
export async function harvestResults(
  calls: readonly UnansweredCall[],
  handle: RunHandle | undefined,
): Promise<(ToolMessage | undefined)[]> {
  const found = new Array<ToolMessage | undefined>(calls.length).fill(undefined);
  let checkpoint = handle?.abandoned;
  for (let read = 0; checkpoint !== undefined && read < CHECKPOINTS_TO_READ; read += 1) {
    const written = messagesWritten(checkpoint);
    fillInOrder(found, calls, written.filter(isResult));
    const isOrigin = calls.every(({ group }) => written.some(({ id }) => id === group.head.id));
    if (isOrigin || !found.includes(undefined)) break;
    checkpoint = checkpoint.parentConfig && (await handle?.readCheckpoint?.(checkpoint.parentConfig));
  }
  return found;
}

/** What the checkpoint's tasks wrote to the messages channel. */
function messagesWritten({ pendingWrites = [] }: CheckpointTuple): ReturnType<typeof readWrite> {
  return pendingWrites.flatMap(([, channel, value]) => (channel === "messages" ? readWrite(value) : []));
}

function readWrite(value: unknown) {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map(coerceMessage).filter((message) => message !== undefined);
}

/** The writes of a checkpoint answer the last group of its history, and so the latest of several equal ids. */
function fillInOrder(
  found: (ToolMessage | undefined)[],
  calls: readonly UnansweredCall[],
  results: readonly ToolMessage[],
): void {
  const waiting = results.filter((result) => !isPlaceholder(result));
  for (const { group } of calls.toReversed()) {
    for (const [index, unanswered] of calls.entries()) {
      if (unanswered.group !== group || found[index] !== undefined) continue;
      const match = waiting.findIndex((result) => callIdOf(result) === unanswered.call.id);
      if (match >= 0) found[index] = waiting.splice(match, 1)[0];
    }
  }
}
