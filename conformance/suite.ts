/** What a suite is, and how the outcome of a case is found. */

import type { Adapter } from "./adapter.js";
import type { SuiteName } from "./report/results.js";

export type Outcome =
  | { readonly kind: "pass" }
  /** The case does not apply to the implementation. */
  | { readonly kind: "dash" }
  | {
      readonly kind: "fault";
      readonly reason: string;
      readonly input?: unknown;
      readonly output?: unknown;
    };

export const PASS: Outcome = { kind: "pass" };
export const DASH: Outcome = { kind: "dash" };

export interface Case {
  /** Unique in its suite, and stable. */
  readonly id: string;
  /** Where it was reported. */
  readonly source?: string;
  readonly run: () => Promise<Outcome>;
}

export interface OpenSuite {
  readonly cases: readonly Case[];
  /** How many cases can run at once. @default 1 */
  readonly concurrency?: number;
  readonly close: () => Promise<void>;
}

export interface Suite {
  readonly name: SuiteName;
  /** What a case must show to pass. */
  readonly passes: string;
  readonly applies: (adapter: Adapter) => boolean;
  open(adapter: Adapter): Promise<OpenSuite>;
}

export const fault = (reason: string, input?: unknown, output?: unknown): Outcome => ({
  kind: "fault",
  reason,
  ...(input !== undefined && { input }),
  ...(output !== undefined && { output }),
});

export const messageOf = (error: unknown): string => String(Object(error).message ?? error).slice(0, 600);

/** Only a case that never ends takes this long, also where other work takes most of the machine. */
const LONGEST_CASE_MS = 600_000;
/** Who waits longer than this for one response waits for ever. */
const LONGEST_TURN_MS = 60_000;

/** @throws if the work has not ended by then. It goes on, and nobody waits for it. */
export async function withinTime<Result>(
  work: Promise<Result>,
  longestMs: number = LONGEST_TURN_MS,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(`It did not end within ${longestMs / 1_000} s.`);
    timer = setTimeout(() => reject(error), longestMs);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const runCase = ({ run }: Case): Promise<Outcome> =>
  withinTime(run(), LONGEST_CASE_MS).catch((error: unknown) => fault(messageOf(error)));
