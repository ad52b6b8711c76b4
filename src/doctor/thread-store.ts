/**
 * Where threads are stored: a LangGraph server, a database, or a file. Every part of the doctor reads and writes threads
 * through this interface alone.
 */

import type { StoredThread, ThreadSizes, ThreadStatus } from "./stored-thread.js";

/** One thread, or the state of a subgraph inside a thread. */
export interface ThreadRef {
  readonly threadId: string;
  /** `""` for the thread itself. Otherwise the namespace of a subgraph: it is reported, and never written. */
  readonly namespace: string;
}

/** Which threads of a store are read. Fields that are missing select everything. */
export interface ThreadSelection {
  readonly threadIds?: readonly string[] | undefined;
  /** All of these must be in the metadata of the thread, with equal values. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly status?: ThreadStatus | undefined;
  /** Only threads that were written at this time or later. */
  readonly since?: Date | undefined;
  /** How many threads at most. */
  readonly limit?: number | undefined;
}

/** A write of a repair, or of an undo. */
export interface ThreadWrite {
  /** The latest checkpoint for which the write was planned. Undefined: the thread has no checkpoint ids. */
  readonly expectedCheckpointId: string | undefined;
  /**
   * The complete list of messages that the thread has after the write, in the form in which
   * {@link StoredThread} has them.
   */
  readonly messages: readonly unknown[];
  /** The node in whose name the state is written. Undefined: the store decides. */
  readonly asNode?: string | undefined;
}

/** What became of a write. */
export type WriteOutcome =
  /** `checkpointId` is the new latest checkpoint. */
  | { readonly kind: "written"; readonly checkpointId: string | undefined }
  /** Somebody else wrote to the thread after the plan was made. Nothing was written. */
  | { readonly kind: "moved"; readonly checkpointId: string | undefined }
  /** A run of the thread has not ended. Nothing was written. */
  | { readonly kind: "busy" };

/** Threads that the doctor can read, and mostly write. */
export interface ThreadStore {
  /** The place, as reports and receipts name it. It contains no keys and no passwords. */
  readonly target: string;
  /** False for a store that can only be read. */
  readonly canWrite: boolean;
  /** Contract: gives each selected thread once, and does not keep them all in memory. Throws if it cannot connect. */
  threads(selection: ThreadSelection): AsyncIterable<ThreadRef>;
  /**
   * Contract: changes nothing. A thread whose messages cannot be read is returned as such, with the reason. Throws only
   * if the store itself fails, for example because the connection is lost.
   */
  read(ref: ThreadRef): Promise<StoredThread>;
  /**
   * Contract: compares the latest checkpoint with `expectedCheckpointId` directly before it writes. Writes the list in
   * one step, or nothing. Leaves every other channel as it is, except that writes of finished tasks that are pending at
   * the latest checkpoint are applied. Keeps all earlier checkpoints. The caller reads back and checks.
   */
  write(ref: ThreadRef, write: ThreadWrite): Promise<WriteOutcome>;
  /** Contract: measures what is stored, without loading all of it into memory. Undefined: the store cannot tell. */
  readonly measure?: ((ref: ThreadRef) => Promise<ThreadSizes | undefined>) | undefined;
  close(): Promise<void>;
}
