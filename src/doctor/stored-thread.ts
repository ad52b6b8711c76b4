/** A thread as it was read from its store. */

/**
 * - `idle`: no run is going on, and nobody is asked anything. A run may have ended early.
 * - `busy`: a run is going on or waits to start. Its messages can be incomplete, so nothing of them is judged.
 * - `interrupted`: the thread waits for the answer of a human.
 * - `error`: the last run failed.
 */
export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

/**
 * The messages of a thread. Each one is a value as the store has it: an instance of a LangChain message, a plain object,
 * or LangChain's serialised form. A store passes them on unchanged, because a repair writes those that it does not
 * change back as they are.
 */
export type StoredMessages =
  | { readonly kind: "read"; readonly messages: readonly unknown[] }
  /**
   * The thread's own graph cannot read the thread: every `getState` and every run throws `reason`. The messages were
   * read in another way; undefined if that failed too.
   */
  | {
      readonly kind: "bricked";
      readonly reason: string;
      readonly messages: readonly unknown[] | undefined;
    }
  /** The messages could not be read, and it is not known whether the thread is sound. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** The state has no list of messages. */
  | { readonly kind: "none" };

/** What a run that ended early has saved beside the state of the thread. */
export interface EndedRun {
  /** The checkpoint with which the writes of its finished tasks are stored. */
  readonly checkpointId: string;
  /**
   * - `pending`: it is the latest checkpoint, and the next update of the state applies the writes.
   * - `discarded`: later input discarded them.
   */
  readonly fate: "pending" | "discarded";
  /** The ids of the messages that the run knew, so that its results are matched to calls that it made. */
  readonly knownMessageIds: readonly string[];
  /** The messages that its finished tasks wrote, in the form of {@link StoredMessages}. */
  readonly written: readonly unknown[];
  /** The names of other channels that its finished tasks wrote. A repair does not restore discarded ones. */
  readonly otherChannels: readonly string[];
}

/** A task of the latest checkpoint that has not finished. */
export interface OpenTask {
  readonly id: string;
  /** The name of its node. */
  readonly node: string;
  /** What it failed with. Undefined: it did not fail, or that is unknown. */
  readonly error: string | undefined;
  /** The questions that it asked a human, as far as the store tells them. */
  readonly interrupts: readonly unknown[];
}

/** A thread as it was read from its store. */
export interface StoredThread {
  readonly threadId: string;
  /** See `ThreadRef`. */
  readonly namespace: string;
  /** The latest checkpoint. Undefined for a list without one, such as a file. */
  readonly checkpointId: string | undefined;
  /** When the latest checkpoint was written, in ISO 8601; undefined if that is unknown. */
  readonly updatedAt?: string | undefined;
  readonly status: ThreadStatus;
  readonly content: StoredMessages;
  /** Runs that ended early and have left something, the oldest first. Empty if the store cannot tell. */
  readonly endedRuns: readonly EndedRun[];
  /** The tasks that a run of the thread would continue with. Undefined: the store cannot tell, as for a bare list. */
  readonly openTasks: readonly OpenTask[] | undefined;
  /** The names of the channels of the state that have a value, besides `messages`. */
  readonly otherChannels: readonly string[];
  /** Why the thread belongs to another graph than the one that it was read with, in one sentence. It is then not written. */
  readonly otherGraph?: string | undefined;
  /**
   * Whether the graph of the thread mends calls and results when the next message comes, as those of `createAgentGraph`
   * and those with `tetherMiddleware` do. Undefined: that is unknown.
   */
  readonly mendsItself?: boolean | undefined;
  /** What the channel of the messages stores with each checkpoint; undefined if that is unknown. */
  readonly messagesChannel?: "full" | "delta" | undefined;
  /** What is stored of the thread; undefined if it was not measured. */
  readonly sizes?: ThreadSizes | undefined;
}

/** What is stored of a thread, in bytes. */
export interface ThreadSizes {
  readonly checkpoints: number;
  /** Everything: checkpoints, values of channels and pending writes, of all namespaces. */
  readonly totalBytes: number;
  /** What all checkpoints together store of the messages. */
  readonly messagesBytes: number;
  /** The latest list of messages alone. */
  readonly latestMessagesBytes: number;
  /** What all checkpoints together store of each channel. */
  readonly channels: Readonly<Record<string, number>>;
}
