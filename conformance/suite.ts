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

/** Only a run that never ends takes this long, also where other work takes most of the machine. */
const LONGEST_MS = 600_000;

export async function runCase({ run }: Case): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve(fault(`It did not end within ${LONGEST_MS / 1000} s.`)), LONGEST_MS);
  });
  try {
    return await Promise.race([run(), late]);
  } catch (error) {
    return fault(messageOf(error));
  } finally {
    clearTimeout(timer);
  }
}
