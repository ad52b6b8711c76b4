/**
 * Finds what an ended run left behind: results that tools had returned, and calls that waited for a human. LangGraph
 * saves each finished task and each interrupt as a pending write of the checkpoint. New input discards these writes,
 * so they are read from that checkpoint itself.
 */

import type { ToolMessage } from "@langchain/core/messages";
import { type CheckpointTuple, INTERRUPT } from "@langchain/langgraph";
import type { UnansweredCall } from "../../history/calls/open-calls.js";
import { coerceMessage } from "../../history/messages/coerce-message.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/messages/result.js";
import { resumedTasks } from "../../langgraph/resumed-tasks.js";
import type { WatchedCheckpoints } from "../../langgraph/watch-checkpointer.js";
import { type AskedCall, askedCalls } from "../approval/approval-request.js";

/** How many checkpoints are read at most. Each run that ended before `patch` has left one. */
const CHECKPOINTS_TO_READ = 20;

/** The finding for a call: the result of its tool, or the pending question to a human. */
export type Remains =
  | { readonly kind: "result"; readonly result: ToolMessage }
  | { readonly kind: "question"; readonly asked: AskedCall };

/**
 * The findings for the given calls, in the same order. Undefined where nothing was found. Only writes that were never
 * applied count: a result that was applied and later removed stays removed.
 */
export async function recoverCalls(
  calls: readonly UnansweredCall[],
  checkpoints: WatchedCheckpoints | undefined,
): Promise<(Remains | undefined)[]> {
  const found = new Array<Remains | undefined>(calls.length).fill(undefined);
  let checkpoint = checkpoints?.abandoned;
  /** What replaced the checkpoint. At first, it is the run's own input. */
  let successor: string | undefined = "input";
  for (let read = 0; checkpoint !== undefined && read < CHECKPOINTS_TO_READ; read += 1) {
    const stored = storedIds(checkpoint);
    const isOlder = !calls.some(({ group }) => stored.has(group.head.id));
    if (isOlder) break;
    if (successor === "input") {
      const results = messagesWritten(checkpoint).filter(isResult);
      fillInOrder(found, calls, stored, results.filter(isReal).map(toRemains));
    }
    // An update of the state takes over the results and drops the question.
    if (successor === "input" || successor === "update") {
      fillInOrder(found, calls, stored, unansweredQuestions(checkpoint));
    }
    if (!found.includes(undefined)) break;
    successor = checkpoint.metadata?.source;
    checkpoint = checkpoint.parentConfig && (await checkpoints?.read?.(checkpoint.parentConfig));
  }
  return found;
}

/** The ids of the messages in the checkpoint's history. */
function storedIds({ checkpoint }: CheckpointTuple): ReadonlySet<unknown> {
  const messages: unknown = checkpoint.channel_values["messages"];
  return new Set(Array.isArray(messages) ? messages.map((message) => message?.id) : []);
}

/** The writes of the checkpoint's tasks to the messages channel. */
function messagesWritten({ pendingWrites = [] }: CheckpointTuple): ReturnType<typeof readWrite> {
  return pendingWrites.flatMap(([, channel, value]) => (channel === "messages" ? readWrite(value) : []));
}

function readWrite(value: unknown) {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map(coerceMessage).filter((message) => message !== undefined);
}

const isReal = (result: ToolMessage) => !isPlaceholder(result);

interface Found {
  readonly callId: string;
  readonly remains: Remains;
}

function toRemains(result: ToolMessage): Found {
  return { callId: callIdOf(result), remains: { kind: "result", result } };
}

/** The calls that unfinished tasks of the checkpoint asked a human about. */
function unansweredQuestions(checkpoint: CheckpointTuple): Found[] {
  const answered = resumedTasks(checkpoint);
  const { pendingWrites = [] } = checkpoint;
  return pendingWrites
    .filter(([task, channel]) => channel === INTERRUPT && !answered.has(task))
    .flatMap(([, , value]) => askedCalls(value))
    .map((asked) => ({ callId: asked.id, remains: { kind: "question", asked } }));
}

/**
 * The writes of a checkpoint belong to the last group of its history. So among equal ids, the latest call gets the
 * result.
 */
function fillInOrder(
  found: (Remains | undefined)[],
  calls: readonly UnansweredCall[],
  stored: ReadonlySet<unknown>,
  written: readonly Found[],
): void {
  const waiting = [...written];
  for (const { group } of calls.toReversed()) {
    for (const [index, unanswered] of calls.entries()) {
      if (unanswered.group !== group || found[index] !== undefined || !stored.has(group.head.id)) continue;
      const match = waiting.findIndex(({ callId }) => callId === unanswered.call.id);
      if (match >= 0) found[index] = waiting.splice(match, 1)[0]?.remains;
    }
  }
}
