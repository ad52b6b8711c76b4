/** Tells listeners of the process how a run ended. */

import { channel } from "node:diagnostics_channel";

/** The `node:diagnostics_channel` on which each {@link EndedRun} is published. */
export const RUN_CHANNEL = "langgraph-tether:run";

/** A run of a graph that is no subgraph. */
export interface EndedRun {
  /**
   * `completed`: it has a response, hands calls to its caller, or waits for a human. `failed`: it threw an error.
   * `cancelled`: it was aborted, or its caller stopped reading.
   */
  readonly outcome: "completed" | "failed" | "cancelled";
}

const runs = channel(RUN_CHANNEL);

/** Passes the chunks on. They are the same generator if nobody listens. */
export function publishingEnd<Chunk>(
  chunks: AsyncGenerator<Chunk>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Chunk> {
  return runs.hasSubscribers ? watched(chunks, signal) : chunks;
}

async function* watched<Chunk>(
  chunks: AsyncGenerator<Chunk>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Chunk> {
  let outcome: EndedRun["outcome"] = "cancelled";
  try {
    yield* chunks;
    outcome = "completed";
  } catch (error) {
    if (signal?.aborted !== true) outcome = "failed";
    throw error;
  } finally {
    runs.publish({ outcome } satisfies EndedRun);
  }
}
