/** What a command is given, and how it ends. */

import { printableLine } from "../../shared/text.js";
import type { ThreadStore } from "../thread-store.js";

/** The world of a command. It is passed in, so a test can replace it. */
export interface CommandIo {
  readonly output: TextOutput;
  readonly errors: TextOutput;
  /** Reads standard input to its end. */
  readonly readInput: () => Promise<string>;
  /** Whether a human can be asked. */
  readonly canAsk: boolean;
  /** Asks a question. Contract: resolves with the human's line, or "" if there is none. */
  readonly ask: (question: string) => Promise<string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Serves pages that show a store's threads. Contract: only on this machine, and only to whoever knows the address.
   */
  readonly serveInspector: (
    store: ThreadStore,
    options: { readonly port?: number | undefined; readonly repairCommand?: string | undefined },
  ) => Promise<{ readonly address: string; readonly close: () => Promise<void> }>;
  /** The folder that relative paths begin at. */
  readonly folder: string;
  /** Aborted when the operator presses Ctrl+C. */
  readonly signal: AbortSignal;
  /** Milliseconds. */
  readonly now: () => number;
}

export interface TextOutput {
  /** Contract: resolves when more can be written. */
  readonly write: (text: string) => Promise<void>;
  readonly isTerminal: boolean;
  /** Whether it shows colours, and the operator wants them. @default false */
  readonly hasColours?: boolean | undefined;
}

/** The exit codes of the command. Scripts depend on them. */
export const EXIT = {
  /** `doctor`: nothing found at or above `--fail-on`. `repair` and `undo`: nothing is left to do. */
  sound: 0,
  /**
   * `doctor`: findings at or above `--fail-on`. `repair` and `undo`: something is left. `explain`: it would be refused.
   */
  findings: 1,
  /** A wrong option or value, a missing package, or a target that cannot be opened. Nothing was written. */
  usage: 2,
  /** Some threads could not be read, or were not judged, so the target is not known to be sound. */
  partlyRead: 3,
  /** A fault of the command itself. */
  ownFault: 101,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Whether the operator agrees. Anything but `y` or `yes` is a no. */
export async function askToWrite(question: string, { ask }: CommandIo): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test(await ask(`${printableLine(question)} [y/N] `));
}
