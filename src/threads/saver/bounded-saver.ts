/** Waits for a checkpointer only as long as a user can be expected to. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { answered } from "../../shared/waiting.js";
import { listingOf } from "../langgraph/memory-listing.js";
import { originalOf, replaceMethods } from "../langgraph/replace-methods.js";
import { closing, poolOf, withPool } from "../langgraph/saver-databases.js";
import { soundSaver } from "../langgraph/sound-saver.js";

/**
 * A view of a checkpointer that abandons what does not answer, so that no thread waits for ever. If a write of
 * `PostgresSaver` is abandoned, its connection is closed.
 */
export function boundedSaver(
  given: BaseCheckpointSaver,
  signal: AbortSignal | undefined,
): BaseCheckpointSaver {
  const saver = soundSaver(given);
  const wait = { what: "The checkpointer", signal };
  const pool = poolOf(given);
  const bounded = <Result>(write: (own: BaseCheckpointSaver) => Promise<Result>): Promise<Result> => {
    if (pool === undefined) return answered(write(saver), wait);
    const { connect, giveUp } = closing(pool);
    return answered(write(withPool(given, { connect })), { ...wait, giveUp });
  };
  return replaceMethods(saver, {
    getTuple: (config) => answered(readTuple(saver, config), wait),
    // Savers older than the delta channel do not have it.
    ...(typeof saver.getDeltaChannelHistory === "function" && {
      getDeltaChannelHistory: (options) => answered(saver.getDeltaChannelHistory(options), wait),
    }),
    put: (...written) => bounded((own) => own.put(...written)),
    putWrites: (...written) => bounded((own) => own.putWrites(...written)),
  });
}

/** Reads a checkpoint. To find the latest, a `MemorySaver` lists the whole thread. */
async function readTuple(
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
): Promise<CheckpointTuple | undefined> {
  const { thread_id, checkpoint_ns = "", checkpoint_id } = { ...config.configurable };
  const isOfLatest = checkpoint_ns === "" && checkpoint_id === undefined;
  const listing = isOfLatest ? listingOf(originalOf(saver), thread_id) : undefined;
  const [before, since] = [listing?.latest, performance.now()];
  const tuple = await saver.getTuple(config);
  // What was written meanwhile is later than what was read.
  if (listing !== undefined && listing.latest === before)
    Object.assign(listing, { latest: tuple?.checkpoint.id, since });
  return tuple;
}
