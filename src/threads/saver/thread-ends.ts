/**
 * Whether a thread's last run may have left something, without another read of the thread: LangGraph reads it when a
 * run begins, and what it reads tells.
 */

import { types } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { safely, toJson } from "../../shared/json.js";
import { madeOnce } from "../../shared/values.js";
import { hasTasks } from "../langgraph/read-checkpoints.js";
import { isSaver, originalOf } from "../langgraph/replace-methods.js";
import { inheritedCheckpointer, namespaceOfGraph } from "../langgraph/run-host.js";

/** How many threads are remembered for each checkpointer. */
const MOST_THREADS = 1_000;

/** For each thread that LangGraph has read since its last hook, whether its latest checkpoint is unfinished. */
type Ends = Map<string, boolean>;

const watched = forAllCopies("thread-ends", () => new WeakMap<BaseCheckpointSaver, Ends>());

/**
 * Whether a run of the task's thread may have ended early, before this one began. True if it is not known: the
 * checkpointer is watched from its first run in this process on.
 *
 * Contract: call it once in a run. A read counts for one run, so one that is not seen leaves no wrong answer behind.
 */
export function mayHaveEndedEarly(config: RunnableConfig): boolean {
  const given = inheritedCheckpointer(config);
  if (!isSaver(given)) return false;
  const saver = originalOf(given) as BaseCheckpointSaver;
  const { thread_id } = { ...config.configurable };
  const ends = madeOnce(watched, saver, () => watch(saver));
  const key = keyOf(thread_id, namespaceOfGraph(config));
  const isUnfinished = ends.get(key) ?? true;
  ends.delete(key);
  return isUnfinished;
}

/** Reads of a checkpointer that cannot be changed are not seen, so its threads stay unknown: see `waitForWrites`. */
function watch(saver: BaseCheckpointSaver): Ends {
  const ends: Ends = new Map();
  if (types.isProxy(saver)) return ends;
  const { getTuple } = saver;
  safely(() =>
    Object.assign(saver, {
      async getTuple(this: BaseCheckpointSaver, config: RunnableConfig) {
        const tuple = await getTuple.call(this, config);
        const { thread_id, checkpoint_ns = "" } = { ...config.configurable };
        const key = keyOf(thread_id, checkpoint_ns);
        ends.delete(key);
        ends.set(key, tuple !== undefined && mayHaveLeft(tuple));
        const [oldest = ""] = ends.keys();
        if (ends.size > MOST_THREADS) ends.delete(oldest);
        return tuple;
      },
    }),
  );
  return ends;
}

function mayHaveLeft(tuple: CheckpointTuple): boolean {
  return hasTasks(tuple) || (tuple.pendingWrites ?? []).length > 0;
}

function keyOf(threadId: unknown, namespace: unknown): string {
  return toJson([threadId, namespace]) ?? "";
}
