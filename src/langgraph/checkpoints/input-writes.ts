/**
 * The writes of a checkpoint that belong to the run after it. For a delta channel, LangGraph stores the input of a run
 * with the checkpoint that it began on. With the durability `exit` it stores all updates of the run there.
 */

import { v5 } from "@langchain/core/utils/uuid";
import type { CheckpointTuple } from "@langchain/langgraph";

/** The task of the input. Not exported. */
const INPUT = "__input__";
/** Such an update has the number of its superstep at the beginning of its task id. Not exported. */
const STEP = /^(\d{8}|000000-\d)-/;
/** The updates of all supersteps after the first one. No task id of LangGraph begins so. Not exported. */
const LATER = "ffffffff-";
/** The input in superstep 0, because the null task has zeros there. Not exported. */
const NULL_TASK_AT_EXIT = "00000000-0000-0000-0000-000000000001";
/** The first superstep of a run is at most this many supersteps after the checkpoint that it began on. */
const FIRST_STEPS = 3;

/** Makes a predicate on the tasks of a checkpoint's writes. */
export function belongsToNextRun({ checkpoint, metadata }: CheckpointTuple): (task: string) => boolean {
  const inputTask = taskOfInput(checkpoint.id);
  const begin = metadata?.step ?? -1;
  return (task) => {
    if (task === inputTask || task === NULL_TASK_AT_EXIT || task.startsWith(LATER)) return true;
    const [, digits] = STEP.exec(task) ?? [];
    if (digits === undefined) return false;
    const step = Number(digits.replace("-", "")) * (digits.includes("-") ? -1 : 1);
    return step >= begin && step <= begin + FIRST_STEPS;
  };
}

function taskOfInput(checkpointId: string): string | undefined {
  const bytes = checkpointId.replaceAll("-", "").match(/[0-9a-f]{2}/gi);
  return bytes?.length === 16
    ? v5(INPUT, new Uint8Array(bytes.map((byte) => Number.parseInt(byte, 16))))
    : undefined;
}
