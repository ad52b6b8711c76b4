/** A run from start to end: it is admitted, and passes through the graph, alone or inside agent middleware. */

import { channel } from "node:diagnostics_channel";
import { isSubgraphRun } from "../../threads/langgraph/run-host.js";
import { type AgentRun, admit } from "./admit.js";
import { runInMiddleware } from "./in-middleware.js";
import { isConflict, startPass } from "./pass.js";

/**
 * Gives a run's chunks to its reader.
 *
 * @throws InvalidCommandError, InvalidSettingError or InvalidMessageError for an invalid input or option.
 */
export async function runAgent<Chunk>(run: AgentRun<Chunk>): Promise<void> {
  let outcome: EndedRun["outcome"] = "cancelled";
  try {
    await execute(run);
    outcome = "completed";
  } catch (error) {
    const { signal } = run.options;
    const isCancelled = signal?.aborted === true ? !isConflict(signal.reason) : run.reader.hasLeft();
    if (!isCancelled) outcome = "failed";
    throw error;
  } finally {
    if (runs.hasSubscribers && !isSubgraphRun(run.options)) runs.publish({ outcome } satisfies EndedRun);
  }
}

async function execute<Chunk>(run: AgentRun<Chunk>): Promise<void> {
  const admitted = await admit(run);
  if (run.middleware.agent.length > 0) return runInMiddleware(admitted);
  const { input, settings } = admitted;
  const { record, ended } = startPass(admitted, { input, settings });
  await ended;
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
