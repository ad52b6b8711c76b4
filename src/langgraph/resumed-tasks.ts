import type { CheckpointTuple } from "@langchain/langgraph";

/** The channel of a checkpoint's writes that has the resume values of a task's interrupts. Not exported. */
const RESUME = "__resume__";

/** The ids of the tasks that were resumed with a value, but had not finished when their run ended. */
export function resumedTasks({ pendingWrites = [] }: CheckpointTuple): ReadonlySet<string> {
  return new Set(pendingWrites.flatMap(([task, channel]) => (channel === RESUME ? task : [])));
}
