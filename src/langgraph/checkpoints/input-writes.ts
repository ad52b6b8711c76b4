/**
 * The writes of a checkpoint that belong to the run after it. With the durability `exit`, LangGraph stores all updates of
 * a delta channel with the checkpoint that the run began on.
 */

import type { CheckpointTuple } from "@langchain/langgraph";

/** Such an update has the number of its superstep at the beginning of its task id. Not exported. */
const STEP = /^(\d{8}|000000-\d)-/;
/** The updates of all supersteps after the first one. No task id of LangGraph begins so. Not exported. */
const LATER = /^ffffffff-([0-9a-f]{4})-([0-9a-f]{4})-/;
/** The input in superstep 0, because the null task has zeros there. Not exported. */
const NULL_TASK_AT_EXIT = "00000000-0000-0000-0000-000000000001";
/** The first superstep of a run is at most this many supersteps after the checkpoint that it began on. */
const FIRST_STEPS = 3;

/** Makes a predicate on the tasks of a checkpoint's writes. */
export function belongsToNextRun({ metadata }: CheckpointTuple): (task: string) => boolean {
  const begin = metadata?.step ?? -1;
  return (task) => {
    if (task === NULL_TASK_AT_EXIT || LATER.test(task)) return true;
    const step = firstStepOf(task);
    return step !== undefined && step >= begin && step <= begin + FIRST_STEPS;
  };
}

/** The superstep of such an update. Contract: `belongsToNextRun` holds for its task. */
export function stepOfNextRun(task: string): number {
  const [, high, low] = LATER.exec(task) ?? [];
  return high !== undefined ? Number.parseInt(`${high}${low}`, 16) : (firstStepOf(task) ?? 0);
}

function firstStepOf(task: string): number | undefined {
  const [, digits] = STEP.exec(task) ?? [];
  return digits === undefined ? undefined : Number(digits.replace("-", "")) * (digits.includes("-") ? -1 : 1);
}
