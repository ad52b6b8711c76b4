/** Which user started which run in this process, and what the run works with. */

import type { ServedRun } from "../../threads/langgraph/run-host.js";

/** What is kept: enough for the runs whose streams a client can still join. */
const MOST_RUNS = 50_000;

export interface RunOwners {
  note(runId: string, user: string): void;
  ownerOf(runId: string): string | undefined;
  /** Called when a run begins. */
  begin(run: ServedRun): void;
  /** The threads of runs with the assistant that have begun. Such a run may have ended. */
  threadsOf(assistantId: string): string[];
}

/** @param most How many runs are kept. Earlier ones are forgotten. */
export function createRunOwners(most = MOST_RUNS): RunOwners {
  const owners = new Map<string, string>();
  const begun = new Map<string, ServedRun>();
  const keep = <Value>(map: Map<string, Value>, runId: string, value: Value) => {
    map.set(runId, value);
    const [first] = map.keys();
    if (map.size > most && first !== undefined) map.delete(first);
  };
  return {
    note: (runId, user) => keep(owners, runId, user),
    ownerOf: (runId) => owners.get(runId),
    begin: (run) => keep(begun, run.runId, run),
    threadsOf: (assistantId) =>
      [...begun.values()].filter((run) => run.assistantId === assistantId).map(({ threadId }) => threadId),
  };
}
