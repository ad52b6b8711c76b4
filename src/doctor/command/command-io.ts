/** The world of a command. It is passed in, so a test can replace it. */
export interface CommandIo {
  readonly output: TextOutput;
  readonly errors: TextOutput;
  /** Reads standard input to its end. */
  readonly readInput: () => Promise<string>;
  /** Whether a human can be asked. */
  readonly canAsk: boolean;
  /** Asks a question. Contract: resolves with the line that the human writes, and with "" if there is none. */
  readonly ask: (question: string) => Promise<string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
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
}
