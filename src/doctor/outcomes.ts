/** What became of a repair, or of an undo, of one thread. */

import type { ThreadReport } from "./finding.js";
import type { RepairStep, SkipReason } from "./repair-plan.js";

export type RepairOutcome = {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
} & (
  | { readonly kind: "nothing" }
  | { readonly kind: "skipped"; readonly reason: SkipReason; readonly description: string }
  /** The thread was written, read back, and has nothing left to repair. */
  | {
      readonly kind: "repaired";
      readonly checkpointId: string | null;
      readonly steps: readonly RepairStep[];
      /** What the doctor finds afterwards. */
      readonly report: ThreadReport;
    }
  /** Somebody else wrote to the thread first. Nothing was written: make a new plan. */
  | { readonly kind: "moved" }
  /** The write failed, or what was read back is not what was written. `undo` restores what the receipt has. */
  | { readonly kind: "failed"; readonly error: string }
);

export type UndoOutcome = {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
} & (
  | { readonly kind: "restored"; readonly checkpointId: string | null }
  /** The thread has the list of before already: nothing was written, or it was restored before. */
  | { readonly kind: "unchanged" }
  /** The thread has moved on since the repair. Nothing was written. */
  | { readonly kind: "moved"; readonly description: string }
  | { readonly kind: "skipped"; readonly reason: SkipReason; readonly description: string }
  | { readonly kind: "failed"; readonly error: string }
);
