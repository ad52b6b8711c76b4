/** One row of the table of settings: everything about one option of `createAgentGraph`. */

import type { z } from "zod/v4";
import type { EnvironmentVariable } from "./environment-text.js";
import type { Rule } from "./rule.js";

export interface Setting<Schema extends z.ZodType = z.ZodType> extends Rule<Schema> {
  /**
   * What the option does, in plain sentences. The last one states the default. The README and the form in Studio show
   * it. The comment of the row has the same text, which editors show on hover.
   */
  readonly help: string;
  /** The value of an option that is left out; undefined if there is none, or if other settings or the model decide. */
  readonly default: unknown;
  /** The environment variable of the served graph. Left out for an option whose value cannot be written as a text. */
  readonly env?: EnvironmentVariable;
  /** Whether a run can choose it in its `context`. A rule instead of `true` limits the values that a run can choose. */
  readonly perRun?: true | Rule;
  /** Whether a run can lower it, but not raise it. Only for numbers. */
  readonly lowerOnly?: true;
  /** Whether it must be set. */
  readonly required?: true;
}

export type SettingsTable = Readonly<Record<string, Setting>>;

export type ValueOf<Row extends Setting> = z.output<Row["schema"]>;

/** The value of a row in the settings, where a row that was left out has its default. */
export type ValueIn<Row extends Setting> = Row extends { readonly required: true }
  ? ValueOf<Row>
  : Row["default"] extends undefined
    ? ValueOf<Row> | undefined
    : ValueOf<Row>;
