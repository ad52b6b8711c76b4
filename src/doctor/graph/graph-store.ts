/** Threads in the database of the user's own graph. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { listThreads } from "../../langgraph/checkpoints/list-threads.js";
import type { ThreadSizes } from "../stored-thread.js";
import type { ThreadRef, ThreadSelection, ThreadStore } from "../thread-store.js";
import { openGraph } from "./graph-thread.js";
import { measureThread } from "./measure-thread.js";
import { readThread } from "./read-thread.js";
import { writeThread } from "./write-thread.js";

/** What `createGraphStore` gets. */
export interface GraphStoreOptions {
  /** See `GraphThread`. */
  readonly graph: object;
  /** @default the one that the graph was compiled with */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
  /** The place, for reports and receipts, without keys and passwords. @default `"graph"` */
  readonly target?: string | undefined;
  /**
   * Contract: gives each selected thread once, without reading its messages. A database can do this in one query.
   *
   * @default reads every checkpoint of the checkpointer, which is slow for a large database
   */
  readonly list?: ((selection: ThreadSelection) => AsyncIterable<ThreadRef>) | undefined;
  /** See `ThreadStore`. @default reads every checkpoint of the thread */
  readonly measure?: ((ref: ThreadRef) => Promise<ThreadSizes | undefined>) | undefined;
  /** Contract: closes what `createGraphStore` was given. */
  readonly close?: (() => Promise<void>) | undefined;
}

/**
 * The threads of a graph, read and written through the graph itself. Only its channel of messages is replaced, on a
 * copy, so every other channel keeps its value.
 *
 * @throws InvalidSettingError if the graph or its checkpointer cannot be used.
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph } from "langgraph-tether";
 * import { createGraphStore, diagnoseThread } from "langgraph-tether/doctor";
 *
 * const graph = await createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
 * const store = createGraphStore({ graph });
 * for await (const ref of store.threads({})) {
 *   const { outcome } = diagnoseThread(await store.read(ref));
 *   console.log(ref.threadId, outcome); // 1 sound
 * }
 * ```
 */
export function createGraphStore(options: GraphStoreOptions): ThreadStore {
  const opened = openGraph(options.graph, options.checkpointer);
  const { target = "graph", list, close, measure } = options;
  return {
    target,
    canWrite: true,
    threads: (selection) => list?.(selection) ?? listThreads(opened.saver, selection),
    read: (ref) => readThread(opened, ref),
    write: (ref, write) => writeThread(opened, ref, write),
    measure: measure ?? ((ref) => measureThread(opened.saver, ref)),
    close: async () => close?.(),
  };
}
