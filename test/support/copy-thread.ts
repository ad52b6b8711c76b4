/** Copies a thread as a server does. */

import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { addToList } from "../../src/shared/values.js";

/** Writes all checkpoints of a thread, and the writes beside them, under the id of another thread, or elsewhere. */
export async function copyThread(
  saver: BaseCheckpointSaver,
  from: string,
  to: string,
  into: BaseCheckpointSaver = saver,
): Promise<void> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list({ configurable: { thread_id: from } })) tuples.unshift(tuple);
  for (const listed of tuples) {
    // Not every checkpointer lists the writes.
    const {
      checkpoint,
      config,
      metadata,
      parentConfig,
      pendingWrites = [],
    } = (await saver.getTuple(listed.config)) ?? listed;
    const { checkpoint_ns } = { ...config.configurable };
    const place = (checkpoint_id: unknown) => ({
      configurable: { thread_id: to, checkpoint_ns, ...(checkpoint_id !== undefined && { checkpoint_id }) },
    });
    if (metadata === undefined) throw new Error("Expected a checkpoint with metadata.");
    const parent = parentConfig?.configurable?.["checkpoint_id"];
    await into.put(place(parent), checkpoint, metadata, checkpoint.channel_versions);
    // A checkpointer numbers the writes of each task.
    const writes = new Map<string, [string, unknown][]>();
    for (const [task, channel, value] of pendingWrites) addToList(writes, task, [channel, value]);
    for (const [task, list] of writes) await into.putWrites(place(checkpoint.id), list, task);
  }
}
