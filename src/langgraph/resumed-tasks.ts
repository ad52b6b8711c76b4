import type { CheckpointTuple } from "@langchain/langgraph";

/** The channel in which a task keeps the answers to its interrupts, among the writes of a checkpoint. Not exported. */
const RESUME = "__resume__";

/** The ids of the tasks whose questions were answered, though they had not finished when their run ended. */
export function resumedTasks({ pendingWrites = [] }: CheckpointTuple): ReadonlySet<string> {
  return new Set(pendingWrites.flatMap(([task, channel]) => (channel === RESUME ? task : [])));
}
