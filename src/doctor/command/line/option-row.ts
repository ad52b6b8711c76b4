/** What an option is made of. `options.ts` has the options. */

import type { ReadValue } from "./option-values.js";

export const COMMANDS = ["doctor", "repair", "undo", "explain", "size"] as const;
export type CommandName = (typeof COMMANDS)[number];

/** The headings of the help, in its order. */
export const GROUPS = {
  target: "Where the threads are",
  select: "Which threads",
  rules: "Rules",
  write: "Writing",
  output: "Output",
} as const;

export interface OptionRow<Value = unknown> {
  readonly group: keyof typeof GROUPS;
  /** What stands for the value in the help. An option without a value is a switch. */
  readonly value?: string;
  readonly read?: ReadValue<Value>;
  /** Whether it can be given more than once. Its value is then a list. */
  readonly many?: true;
  /** Whether several values can follow the name once. */
  readonly listed?: true;
  readonly short?: string;
  readonly help: string;
  readonly commands: readonly CommandName[];
}
