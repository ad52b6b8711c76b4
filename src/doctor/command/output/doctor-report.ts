/** What `doctor` found in a target: the counts, and the forms in which they are printed. */

import type { Finding, Severity, ThreadReport } from "../../finding.js";

/** How many threads and findings there are. */
export interface Counts {
  readonly threads: number;
  readonly sound: number;
  readonly withFindings: number;
  readonly unreadable: number;
  /** Busy threads. They were not judged. */
  readonly skipped: number;
  /** Threads that wait for a human. They count as sound or with findings too. */
  readonly waiting: number;
  readonly subgraphs: number;
  readonly errors: number;
  readonly warnings: number;
  readonly infos: number;
}

/**
 * - `sound`: nothing at or above `--fail-on` was found.
 * - `findings`: there are such findings.
 * - `partly-read`: some threads could not be read, so the target is not known to be sound.
 */
export type DoctorOutcome = "sound" | "findings" | "partly-read";

/** A finding as it is printed. With `--no-redact` it has the beginning of its message. */
export type PrintedFinding = Finding & { readonly excerpt?: string };

/** A thread as it is printed. */
export interface PrintedThread extends Omit<ThreadReport, "findings" | "schemaVersion"> {
  readonly findings: readonly PrintedFinding[];
}

const NO_COUNTS: Counts = {
  threads: 0,
  sound: 0,
  withFindings: 0,
  unreadable: 0,
  skipped: 0,
  waiting: 0,
  subgraphs: 0,
  errors: 0,
  warnings: 0,
  infos: 0,
};

export const noCounts = (): Counts => NO_COUNTS;

/** The counts with one more thread. Subgraphs are part of their thread. */
export function countThread(counts: Counts, { namespace, outcome, status, findings }: ThreadReport): Counts {
  const of = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  const isThread = namespace === "";
  const plus = (is: boolean) => (is ? 1 : 0);
  return {
    threads: counts.threads + plus(isThread),
    sound: counts.sound + plus(isThread && outcome === "sound"),
    withFindings: counts.withFindings + plus(isThread && outcome === "findings"),
    unreadable: counts.unreadable + plus(outcome === "unreadable"),
    skipped: counts.skipped + plus(outcome === "skipped"),
    waiting: counts.waiting + plus(isThread && status === "interrupted"),
    subgraphs: counts.subgraphs + plus(!isThread),
    errors: counts.errors + of("error"),
    warnings: counts.warnings + of("warning"),
    infos: counts.infos + of("info"),
  };
}

export function outcomeOf(
  { errors, warnings, unreadable }: Counts,
  failOn: "error" | "warning" | "never",
  isComplete: boolean,
): DoctorOutcome {
  if (unreadable > 0 || !isComplete) return "partly-read";
  if (failOn === "never") return "sound";
  return errors + (failOn === "warning" ? warnings : 0) > 0 ? "findings" : "sound";
}
