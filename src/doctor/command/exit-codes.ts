/** The exit codes of the command. Scripts depend on them. */
export const EXIT = {
  /** `doctor`: nothing found at or above `--fail-on`. `repair` and `undo`: nothing is left to do. */
  sound: 0,
  /** `doctor`: findings at or above `--fail-on`. `repair` and `undo`: something is left. `explain`: it would be refused. */
  findings: 1,
  /** A wrong option or value, a missing package, or a target that cannot be opened. Nothing was written. */
  usage: 2,
  /** Some threads could not be read, so the target is not known to be sound. */
  partlyRead: 3,
  /** A fault of the command itself. */
  ownFault: 101,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
