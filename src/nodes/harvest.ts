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
import type { WatchedCheckpoints } from "./watch-checkpointer.js";

/** A run that died before it patched leaves one checkpoint; more than some of them in a row is another story. */
const CHECKPOINTS_TO_READ = 20;

/**
 * The finished results of the given calls, each in its place; undefined where none was found. Only writes that
 * were never applied count: a result that was applied and removed since stays removed.
 */
export async function harvestResults(
  calls: readonly UnansweredCall[],
  checkpoints: WatchedCheckpoints | undefined,
): Promise<(ToolMessage | undefined)[]> {
  const found = new Array<ToolMessage | undefined>(calls.length).fill(undefined);
  let checkpoint = checkpoints?.abandoned;
  /** The run's own input discards the writes of the checkpoint that it begins on. */
  let isDiscarded = true;
  for (let read = 0; checkpoint !== undefined && read < CHECKPOINTS_TO_READ; read += 1) {
    const stored = storedIds(checkpoint);
    const isOlder = !calls.some(({ group }) => stored.has(group.head.id));
    if (isOlder) break;
    if (isDiscarded) fillInOrder(found, calls, stored, messagesWritten(checkpoint).filter(isResult));
    if (!found.includes(undefined)) break;
    isDiscarded = checkpoint.metadata?.source === "input";
    checkpoint = checkpoint.parentConfig && (await checkpoints?.read?.(checkpoint.parentConfig));
  }
  return found;
}

/** The ids of the history that the checkpoint holds. */
function storedIds({ checkpoint }: CheckpointTuple): ReadonlySet<unknown> {
  const messages: unknown = checkpoint.channel_values["messages"];
  return new Set(Array.isArray(messages) ? messages.map((message) => message?.id) : []);
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
  stored: ReadonlySet<unknown>,
  results: readonly ToolMessage[],
): void {
  const waiting = results.filter((result) => !isPlaceholder(result));
  for (const { group } of calls.toReversed()) {
    for (const [index, unanswered] of calls.entries()) {
      if (unanswered.group !== group || found[index] !== undefined || !stored.has(group.head.id)) continue;
      const match = waiting.findIndex((result) => callIdOf(result) === unanswered.call.id);
      if (match >= 0) found[index] = waiting.splice(match, 1)[0];
    }
  }
}
