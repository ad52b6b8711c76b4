/** What a checkpoint tells about the run that saved it, if that run has ended early. */

import type { CheckpointTuple } from "@langchain/langgraph";
import { addToList } from "../../shared/add-to-list.js";
import { belongsToNextRun, stepOfNextRun } from "./input-writes.js";
import { NULL_TASK } from "./null-task.js";

/** The channel of the error of a task. Not exported. */
const ERROR = "__error__";

/** What the finished tasks of a checkpoint wrote to these channels: one list for each task, in the order of its writes. */
export function writesByTask(
  tuple: CheckpointTuple,
  channels: readonly string[],
): (readonly [channel: string, value: unknown])[][] {
  const { pendingWrites = [] } = tuple;
  const isOfNextRun = belongsToNextRun(tuple);
  const byTask = new Map<string, (readonly [string, unknown])[]>();
  for (const [task, name, value] of pendingWrites) {
    // LangGraph applies these to the state of the next run, whatever its input is.
    if (!channels.includes(name) || task === NULL_TASK || isOfNextRun(task)) continue;
    addToList(byTask, task, [name, value] as const);
  }
  return [...byTask.values()];
}

/**
 * What a run wrote to a channel that began on this checkpoint and ended before it could save its own, in the order of its
 * supersteps. LangGraph discards it. Empty if the next checkpoint has it.
 *
 * @param child The checkpoint that continues this one; undefined if none does.
 */
export function writesOfLostRun(
  tuple: CheckpointTuple,
  child: CheckpointTuple | undefined,
  channel: string,
): unknown[] {
  // A checkpoint that does not apply these writes has a value of its own.
  if (child !== undefined && child.checkpoint.channel_values[channel] === undefined) return [];
  const isOfNextRun = belongsToNextRun(tuple);
  return (tuple.pendingWrites ?? [])
    .filter(([task, name]) => name === channel && isOfNextRun(task))
    .toSorted(([one], [other]) => (one < other ? -1 : Number(one > other)))
    .map(([, , value]) => value);
}

/**
 * What the same run wrote to a channel in one of its first two supersteps: one list for each task. A run that continues
 * the checkpoint has the same tasks there.
 */
export function tasksOfLostRun(tuple: CheckpointTuple, step: number, channel: string): unknown[][] {
  const { pendingWrites = [], metadata } = tuple;
  if (step > (metadata?.step ?? -1) + 2) return [];
  const isOfNextRun = belongsToNextRun(tuple);
  const byTask = new Map<string, unknown[]>();
  for (const [task, name, value] of pendingWrites) {
    if (name !== channel || !isOfNextRun(task) || stepOfNextRun(task) !== step) continue;
    addToList(byTask, task, value);
  }
  return [...byTask.values()];
}

/** The values that the `Command` of the checkpoint's next run wrote to a channel. */
export function writesOfCommand({ pendingWrites = [] }: CheckpointTuple, channel: string): unknown[] {
  return pendingWrites.flatMap(([task, name, value]) =>
    name === channel && task === NULL_TASK ? [value] : [],
  );
}

/** The channels that lead to a node have this prefix before its name. Not exported. */
const TO_NODE = "branch:to:";

/** Whether the run was about to enter this node. */
export function waitsForNode({ checkpoint }: CheckpointTuple, node: string): boolean {
  return Object.hasOwn(checkpoint.channel_values, TO_NODE + node);
}

/** The nodes that the run was about to enter, without those that `Send` reaches. */
export function nodesToEnter({ checkpoint }: CheckpointTuple): string[] {
  const names = Object.keys(checkpoint.channel_values);
  return names.filter((name) => name.startsWith(TO_NODE)).map((name) => name.slice(TO_NODE.length));
}

/** Whether the checkpoint has an input that its run has not read yet. */
export function hasNewInput({ metadata }: CheckpointTuple): boolean {
  return metadata?.source === "input";
}

/** Whether a task of the checkpoint failed. */
export function hasFailedTask({ pendingWrites = [] }: CheckpointTuple): boolean {
  return pendingWrites.some(([, channel]) => channel === ERROR);
}

/** The names of the channels that finished tasks of a checkpoint wrote, without LangGraph's own. */
export function writtenChannels({ pendingWrites = [] }: CheckpointTuple): string[] {
  const names = pendingWrites.map(([, channel]) => String(channel));
  return [...new Set(names)].filter((name) => !name.startsWith("__") && !name.includes(":"));
}
