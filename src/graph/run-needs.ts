import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseStore } from "@langchain/langgraph";
import { isServedRun } from "../langgraph/run-host.js";
import type { WatchedCheckpointer } from "../langgraph/watch-checkpointer.js";
import { missingCheckpointer, missingStore } from "../nodes/run/missing-service.js";

/** What a graph was built to do that it cannot do alone. */
export interface RunNeeds {
  /** Whether covered messages go to the store. */
  readonly usesArchive: boolean;
  /** Whether calls may wait for a human. */
  readonly asksHumans: boolean;
}

interface Given extends RunNeeds {
  readonly options: RunnableConfig & { readonly store?: unknown };
  /** Of the graph; the one in the options goes before it. */
  readonly store: BaseStore | undefined;
  readonly watched: WatchedCheckpointer;
}

/**
 * A server and a parent graph bring store and checkpointer when a run begins, so they are checked then.
 *
 * On a server a run without a thread has no checkpointer, and neither has a parent graph that remembers nothing. Such a
 * run is sound as long as no call needs an approval, so it is refused when one does: see `dispatchCalls`.
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
