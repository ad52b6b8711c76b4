/**
 * The receipt of a repair: a file with one JSON object on each line. It is written before the thread, so that `undo` can
 * restore every message, and whatever was taken out can be read in it. It contains the messages, so it is as
 * confidential as the database.
 */

import type { RepairStep, Unplaced } from "../repair-plan.js";

/** Written, and on the disk, before the write of a thread. */
export interface ReceiptIntent {
  readonly schemaVersion: 1;
  readonly kind: "intent";
  /** Identifies the write in this receipt. */
  readonly id: string;
  /** ISO 8601. */
  readonly time: string;
  readonly target: string;
  readonly threadId: string;
  readonly namespace: string;
  /** The latest checkpoint before the write. It stays in the store. */
  readonly checkpointId: string | null;
  readonly steps: readonly RepairStep[];
  readonly unplaced: readonly Unplaced[];
  /** The list before the write: each message in JSON, complete. */
  readonly before: readonly unknown[];
  /** Hashes of what the messages say, before and after the write. */
  readonly beforeHash: string;
  readonly afterHash: string;
  /** How many messages the list has after the write. */
  readonly afterLength: number;
}

/** Written after the write of a thread was read back and checked, or has failed. */
export interface ReceiptResult {
  readonly schemaVersion: 1;
  readonly kind: "result";
  /** The `id` of its intent. */
  readonly id: string;
  readonly time: string;
  readonly threadId: string;
  readonly outcome: "written" | "moved" | "busy" | "failed";
  /** The latest checkpoint after the write; null if nothing was written. */
  readonly checkpointId: string | null;
  /** What went wrong; null if nothing did. */
  readonly error: string | null;
}

export type ReceiptEntry = ReceiptIntent | ReceiptResult;

/** Where a repair writes its receipt. */
export interface ReceiptWriter {
  /** Contract: resolves when the entry is on the disk. If it rejects, nothing is written to the thread. */
  append(entry: ReceiptEntry): Promise<void>;
}
