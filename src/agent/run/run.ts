/** A run from start to end: it is admitted, and loops through the graph, alone or inside agent middleware. */

import { channel } from "node:diagnostics_channel";
import { isSubgraphRun } from "../../threads/langgraph/run-host.js";
import { type AgentRun, admit } from "./admit.js";
import { runInMiddleware } from "./in-middleware.js";
import { isConflict, loop } from "./loop.js";

/**
 * Yields a run's chunks.
 *
 * @throws InvalidCommandError, InvalidSettingError or InvalidMessageError for an invalid input or option.
 */
export function runAgent<Chunk>(run: AgentRun<Chunk>): AsyncGenerator<Chunk> {
  const chunks = execute(run);
  const isHeard = runs.hasSubscribers && !isSubgraphRun(run.options);
  return isHeard ? publishingEnd(chunks, run.options.signal) : chunks;
}

async function* execute<Chunk>(run: AgentRun<Chunk>): AsyncGenerator<Chunk> {
  const admitted = await admit(run);
  if (run.middleware.agent.length > 0) {
    yield* runInMiddleware(admitted);
    return;
  }
  const { input, settings } = admitted;
  const { chunks, record } = loop(admitted, { input, settings });
  yield* chunks;
  if (record.failure !== undefined) throw record.failure.error;
}

/*
 * Tells the process's listeners how a run ended.
 */

/** The `node:diagnostics_channel` on which each {@link EndedRun} is published. */
export const RUN_CHANNEL = "langgraph-tether:run";

/** A run of a graph that is no subgraph. */
export interface EndedRun {
  /**
   * `completed`: it responded, handed calls to its caller, or waits for a human. `failed`: it threw an error.
   * `cancelled`: it was aborted, or its caller stopped reading.
   */
  readonly outcome: "completed" | "failed" | "cancelled";
}

const runs = channel(RUN_CHANNEL);

async function* publishingEnd<Chunk>(
  chunks: AsyncGenerator<Chunk>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Chunk> {
  let outcome: EndedRun["outcome"] = "cancelled";
  try {
    yield* chunks;
    outcome = "completed";
  } catch (error) {
    if (signal?.aborted !== true || isConflict(signal.reason)) outcome = "failed";
    throw error;
  } finally {
    runs.publish({ outcome } satisfies EndedRun);
  }
}
