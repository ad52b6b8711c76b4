/** What a repair would do with a thread. It is made without any write. */

/**
 * - `recover`: a result that its tool returned is put after its call.
 * - `close`: a placeholder is put after a call without a result.
 * - `move`: a message goes to another place.
 * - `take-out`: a message leaves the list. The receipt keeps it.
 * - `mend`: a message is replaced by one that can be read and sent.
 * - `replace`: a placeholder, or a result that a client made up, gives way to the real result.
 * - `identify`: a message without an id, or with the id of another message, gets an own one.
 * - `unbrick`: a pending removal of an unknown message is dropped.
 */
export type RepairStepKind =
  | "recover"
  | "close"
  | "move"
  | "take-out"
  | "mend"
  | "replace"
  | "identify"
  | "unbrick";

/** One change of a plan. It contains no text of messages. */
export interface RepairStep {
  readonly kind: RepairStepKind;
  readonly messageId: string | null;
  readonly callId: string | null;
  readonly tool: string | null;
  /** The index in the list before; null for a new message. */
  readonly from: number | null;
  /** The index in the list after; null for a message that leaves the list. */
  readonly to: number | null;
  /** One sentence. */
  readonly description: string;
}

/** Why a thread is not written. */
export type SkipReason =
  /** A run is going on. Try again later. */
  | "busy"
  /** The thread waits for a human. It is never changed. */
  | "waiting"
  /** The messages could not be read. */
  | "unreadable"
  /** The state of a subgraph. */
  | "subgraph"
  /** The thread belongs to another graph than the one that it was read with. */
  | "other-graph";

/** Something that a tool returned, or that a message said, and that has no place in the list. The receipt keeps it. */
export interface Unplaced {
  readonly messageId: string | null;
  readonly callId: string | null;
  readonly tool: string | null;
  /** One sentence that says why. */
  readonly reason: string;
  /** The message, in JSON. */
  readonly message: unknown;
}

interface PlanBase {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | null;
}

/** What a repair would do with a thread. */
export type RepairPlan =
  /** The thread needs no write. */
  | (PlanBase & { readonly kind: "nothing" })
  | (PlanBase & { readonly kind: "skip"; readonly reason: SkipReason; readonly description: string })
  | (PlanBase & {
      readonly kind: "write";
      readonly steps: readonly RepairStep[];
      readonly unplaced: readonly Unplaced[];
      /** The list that the thread has now, as its store gave it. Not for output: it contains the messages. */
      readonly before: readonly unknown[];
      /** The list that the thread gets. Not for output: it contains the messages. */
      readonly after: readonly unknown[];
    });
