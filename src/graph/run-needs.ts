import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseStore } from "@langchain/langgraph";
import type { WatchedCheckpointer } from "../langgraph/checkpoints/watch-checkpointer.js";
import { isServedRun } from "../langgraph/run-host.js";
import { missingCheckpointer, missingStore } from "../nodes/run/missing-service.js";

/** The features of a graph that need a store or a checkpointer. */
export interface RunNeeds {
  /** Whether covered messages are moved to the store. */
  readonly usesArchive: boolean;
  /** Whether tool calls can wait for a human. */
  readonly asksHumans: boolean;
}

interface Given extends RunNeeds {
  readonly options: RunnableConfig & { readonly store?: unknown };
  /** The store of the graph. A store in the options has precedence. */
  readonly store: BaseStore | undefined;
  readonly watched: WatchedCheckpointer;
}

/**
 * Checks that a run has the store and the checkpointer that it needs. This happens when the run begins, because a
 * server or a parent graph can supply them then.
 *
 * A run without a thread on a server has no checkpointer, and a parent graph may have none. Such a run works as long as
 * no call needs approval. `dispatchCalls` throws when a call does.
 *
 * @throws InvalidSettingError if a store or a checkpointer is missing.
 */
export function assertServices(
  { usesArchive, asksHumans, options, store, watched }: Given,
  isSubgraph: boolean,
): void {
  if (usesArchive && (options.store ?? store) === undefined) throw missingStore();
  if (asksHumans && !isSubgraph && !isServedRun(options) && watched.checkpointer === undefined)
    throw missingCheckpointer();
}
