/** What the processes of `finish.test.ts` are told to do, and what they report. */

import type { FinishOutcome, UnfinishedThread } from "../../src/doctor.js";
import type { Database } from "./job.js";

/** Where the thread's run is when its process dies. */
export const PLACES = ["model", "tool", "unsaved", "not-started", "approval", "finished"] as const;
export type Place = (typeof PLACES)[number];

export interface FinishJob {
  readonly kind: "createAgentGraph" | "createAgent";
  readonly database: Database;
  /** A line for each payment. */
  readonly ledger: string;
  /**
   * - `die`: runs the threads, and kills itself when each is in its place.
   * - `hold`: runs the threads until the parent says `go on`.
   * - `finish`: lists and finishes what is unfinished, and reports.
   */
  readonly task: "die" | "hold" | "finish";
  /** The threads to run, each with the place where it is cut. */
  readonly threads: readonly (readonly [threadId: string, place: Place])[];
  readonly quietMs: number;
  readonly concurrency: number;
}

export interface FinishReport {
  readonly found: readonly UnfinishedThread[];
  readonly outcomes: readonly FinishOutcome[];
  /** The results of each thread's calls after that. */
  readonly results: Readonly<Record<string, readonly string[]>>;
}
