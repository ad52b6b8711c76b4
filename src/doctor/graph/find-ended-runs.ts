/** Finds what runs that ended early have saved with their checkpoints, for calls that still have no result. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointTuple } from "@langchain/langgraph";
import { unansweredCalls } from "../../history/calls/open-calls.js";
import { isPlaceholder, isResult } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { writesOfLostRun, writtenChannels } from "../../langgraph/checkpoints/abandoned-checkpoint.js";
import { type Fate, fateOfParent, readLeftovers } from "../../nodes/recovery/leftovers.js";
import type { EndedRun } from "../stored-thread.js";

/** How many checkpoints are read at most, for one thread. */
const CHECKPOINTS_TO_READ = 1000;

/**
 * Walks back from the latest checkpoint to the one in which the first call without a result was made.
 *
 * @param latest With the complete list of messages, as `read` gives it.
 */
export async function findEndedRuns(
  latest: CheckpointTuple,
  read: (config: RunnableConfig) => Promise<CheckpointTuple | undefined>,
): Promise<readonly EndedRun[]> {
  const found: EndedRun[] = [];
  const wanted = idsOfUnansweredCalls(latest);
  let checkpoint: CheckpointTuple | undefined = latest;
  let fate: Fate = "discarded";
  for (let count = 0; checkpoint !== undefined && count < CHECKPOINTS_TO_READ; count += 1) {
    if (fate !== "applied") {
      const run = endedRunOf(checkpoint, count === 0);
      if (run.written.length > 0) found.unshift(run);
    }
    const isNeeded = messagesOf(checkpoint).some(({ id }) => wanted.has(id));
    if (!isNeeded || checkpoint.parentConfig === undefined) break;
    const parent: CheckpointTuple | undefined = await read(checkpoint.parentConfig);
    fate = fateOfParent(checkpoint, parent);
    checkpoint = parent;
  }
  return found;
}

function endedRunOf(checkpoint: CheckpointTuple, isLatest: boolean): EndedRun {
  // What an update of the state took over can be gone again, for example after an undo.
  const { history, written } = readLeftovers(
    checkpoint,
    checkpoint.checkpoint.channel_values["messages"],
    "discarded",
    [],
  );
  return {
    checkpointId: checkpoint.checkpoint.id,
    fate: isLatest ? "pending" : "discarded",
    knownMessageIds: history.map(({ id = "" }) => id),
    written: isLatest ? [...written, ...resultsOfLostRun(checkpoint)] : written,
    otherChannels: writtenChannels(checkpoint).filter((name) => name !== "messages"),
  };
}

/**
 * The results of a run that was killed before it could save its checkpoint. Its other messages are not part of the
 * thread: the next run with input puts them back.
 */
function resultsOfLostRun(latest: CheckpointTuple) {
  const written = writesOfLostRun(latest, undefined, "messages").flat();
  return written.flatMap((value) => coerceMessage(value) ?? []).filter(isResult);
}

/** The ids of the messages whose calls have no result of their tool. */
function idsOfUnansweredCalls(checkpoint: CheckpointTuple): ReadonlySet<string | undefined> {
  const { dangling, pending } = unansweredCalls(
    messagesOf(checkpoint).filter((message) => !isPlaceholder(message)),
  );
  return new Set([...dangling, ...pending].map(({ group }) => group.head.id));
}

function messagesOf({ checkpoint }: CheckpointTuple) {
  const list: unknown = checkpoint.channel_values["messages"];
  return Array.isArray(list) ? list.flatMap((value) => coerceMessage(value) ?? []) : [];
}
