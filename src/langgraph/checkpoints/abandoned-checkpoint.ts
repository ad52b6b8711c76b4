/** What a checkpoint tells about the run that saved it, if that run has ended early. */

import type { CheckpointTuple } from "@langchain/langgraph";
import { belongsToNextRun } from "./input-writes.js";
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
    byTask.set(task, [...(byTask.get(task) ?? []), [name, value]]);
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
