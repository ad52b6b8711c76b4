import type { SkipReason } from "../repair-plan.js";
import type { StoredThread } from "../stored-thread.js";

export interface Skip {
  readonly reason: SkipReason;
  readonly description: string;
}

/** Why a thread must not be written; undefined for one that may be. */
export function skipOf({ namespace, status, content }: StoredThread): Skip | undefined {
  if (namespace !== "")
    return { reason: "subgraph", description: "The state of a subgraph is reported, and never written." };
  if (status === "busy")
    return {
      reason: "busy",
      description: "A run of the thread has not ended. Repair it when the run has ended.",
    };
  if (status === "interrupted")
    return { reason: "waiting", description: "The thread waits for a human, so it is not changed." };
  if (content.kind === "unreadable" || (content.kind === "bricked" && content.messages === undefined))
    return { reason: "unreadable", description: `The messages cannot be read: ${content.reason}` };
  return undefined;
}
