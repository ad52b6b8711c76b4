import type { ThreadSizes } from "../stored-thread.js";
import type { ThreadRef } from "../thread-store.js";

/** The latest checkpoint of a thread, or of a subgraph. */
export interface Head extends ThreadRef {
  readonly checkpointId: string;
}

/** What the tables of a database tell without loading any messages. */
export interface ThreadTable {
  /**
   * The heads that follow this place, in the order of thread and namespace.
   *
   * @param threadIds Only these threads. Undefined: all.
   */
  readonly heads: (
    after: ThreadRef | undefined,
    count: number,
    threadIds: readonly string[] | undefined,
  ) => Promise<readonly Head[]>;
  readonly headOf: (ref: ThreadRef) => Promise<string | undefined>;
  /** The metadata of a checkpoint. */
  readonly metadataOf: (head: Head) => Promise<Readonly<Record<string, unknown>>>;
  /** Contract: adds up in the database. */
  readonly measure: (threadId: string) => Promise<ThreadSizes | undefined>;
}
