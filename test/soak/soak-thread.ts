import type { BaseMessage } from "@langchain/core/messages";

export interface SoakThread {
  /** Runs the graph, and waits for the end. It rejects if the run fails. */
  send(messages: readonly object[], from?: string): Promise<void>;
  /** Begins a run, cancels it when a tool of it has finished, and waits for the end. */
  cancel(messages: readonly object[]): Promise<void>;
  update(messages: readonly object[]): Promise<void>;
  read(): Promise<BaseMessage[]>;
  /** The complete conversation, also at an older checkpoint. It throws if the archive has lost a message. */
  readAll(from?: string): Promise<BaseMessage[]>;
  /** The ids of the checkpoints after finished turns, from the latest. */
  checkpoints(): Promise<string[]>;
  remove(): Promise<void>;
}

export interface SoakHost {
  open(): Promise<SoakThread>;
  /** The size of the heap of the process with the graph, in megabytes. */
  heap(): Promise<number>;
}

/** Fails for an archive that has lost a message. */
export const failForMissing = {
  onMissing: ({ id }: { readonly id: string }) => {
    throw new Error(`The archive has lost ${id}.`);
  },
};
