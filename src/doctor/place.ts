/** Where a thread is: in a store, or in a graph of this process. */

import { createGraphStore } from "./graph/graph-store.js";
import { type GraphThread, isGraphThread, threadIdOf } from "./graph/graph-thread.js";
import type { ThreadRef, ThreadStore } from "./thread-store.js";

/** A thread of a store. */
export interface StoreThread {
  readonly store: ThreadStore;
  readonly ref: ThreadRef;
}

/** A thread, in one of both ways to name it. */
export type ThreadPlace = GraphThread | StoreThread;

/** @throws InvalidSettingError if the graph or its config cannot be used. */
export function placeOf(place: ThreadPlace): StoreThread {
  if (!isGraphThread(place)) return place;
  const { config, graph, checkpointer } = place;
  const threadId = threadIdOf(config);
  const namespace = String(config.configurable?.["checkpoint_ns"] ?? "");
  return { store: createGraphStore({ graph, checkpointer }), ref: { threadId, namespace } };
}
