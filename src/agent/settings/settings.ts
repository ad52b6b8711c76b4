/** The table of settings: one row for each option of `createAgentGraph`, in the order of docs/settings.md. */

import type { z } from "zod/v4";
import {
  checkSettings,
  type Rule,
  type Setting,
  type ValueIn,
  type ValueOf,
  withDefaults,
} from "../../shared/check-settings.js";
import { SUMMARY_SETTINGS } from "../../threads/shared-settings.js";
import { adviceOn } from "./other-ways.js";
import { MODEL_SETTINGS, SCHEMA_SETTINGS, SERVICE_SETTINGS, TOOL_SETTINGS, TURN_SETTINGS } from "./table.js";

// Named, because the package's declarations would otherwise contain the rows without their comments.
type Table = typeof MODEL_SETTINGS &
  typeof TOOL_SETTINGS &
  typeof TURN_SETTINGS &
  typeof SUMMARY_SETTINGS &
  typeof SCHEMA_SETTINGS &
  typeof SERVICE_SETTINGS;

export const SETTINGS: Table = {
  ...MODEL_SETTINGS,
  ...TOOL_SETTINGS,
  ...TURN_SETTINGS,
  ...SUMMARY_SETTINGS,
  ...SCHEMA_SETTINGS,
  ...SERVICE_SETTINGS,
};

export type SettingName = keyof Table;

/** The names of the rows that have a field of this kind. */
export type NamesWith<Field> = {
  [Name in SettingName]: Table[Name] extends Field ? Name : never;
}[SettingName];

type RequiredName = NamesWith<{ readonly required: true }>;
type PerRunName = NamesWith<{ readonly perRun: true | Rule }>;

type RunSchemaOf<Row extends Setting> = Row extends { readonly perRun: Rule<infer Schema> }
  ? Schema
  : Row["schema"];

// The types below map the table's properties, so that an editor shows each option the comment of its row.

/** The options as a caller passes them. `undefined` counts as left out. */
export type SettingsOptions = {
  readonly [Name in keyof Pick<Table, RequiredName>]: ValueOf<Table[Name]>;
} & {
  readonly [Name in keyof Omit<Table, RequiredName>]?: ValueOf<Table[Name]> | undefined;
};

/** The options with their defaults. */
export type Settings = { readonly [Name in SettingName]: ValueIn<Table[Name]> };

type RunRows = Pick<Table, PerRunName>;

export type RunSchemas = { [Name in keyof RunRows]: RunSchemaOf<RunRows[Name]> };
/** The settings that a run can choose. */
export type RunSettings = { -readonly [Name in keyof RunRows]?: z.output<RunSchemas[Name]> | undefined };

/**
 * A graph's options, with defaults for those that are left out or undefined.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not accept.
 */
export function resolveSettings(options: SettingsOptions): Settings {
  checkSettings(options, SETTINGS, "options", "", adviceOn);
  return withDefaults(options, SETTINGS) as Settings;
}

type LimitName = NamesWith<{ readonly lowerOnly: true }>;

/** The limits of a turn and its thread. A run can lower its graph's limits. */
export interface LoopLimits extends Pick<Settings, LimitName> {}
