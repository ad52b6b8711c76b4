/** One row of the table of settings: all that is known of an option of `createAgentGraph`. */

import type { z } from "zod";
import type { EnvironmentVariable } from "./environment-text.js";
import type { Rule } from "./rule.js";

export interface Setting<Schema extends z.ZodType = z.ZodType> extends Rule<Schema> {
  /**
   * What the option does, in plain sentences. The last one is its default. Shown in the README, in the form of Studio
   * and, as the comment of the row, on hover.
   */
  readonly help: string;
  /** The value of an option that is left out; undefined if other settings or the model decide. */
  readonly default: unknown;
  /** Left out for an option whose value cannot be written as a text. */
  readonly env?: EnvironmentVariable;
  /** Whether a run may choose it in its `context`. A rule: a run may choose such a value only. */
  readonly perRun?: true | Rule;
  /** Whether a run may lower it, but not raise it. Only for numbers. */
  readonly lowerOnly?: true;
  readonly required?: true;
}

export type SettingsTable = Readonly<Record<string, Setting>>;
