import { checkSettings } from "./rule.js";
import { SETTINGS, type Settings, type SettingsOptions } from "./settings.js";

/** @throws InvalidSettingError for an unknown option, or a value that the option does not take. */
export function checkBuildSettings(options: unknown): void {
  checkSettings(options, SETTINGS, "options");
}

/**
 * The options of a graph, each with its default where it is left out or undefined.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not take.
 */
export function resolveSettings(options: SettingsOptions): Settings {
  checkBuildSettings(options);
  const given = new Map<string, unknown>(Object.entries(options));
  const resolved = Object.entries(SETTINGS).map(([name, row]) => [name, given.get(name) ?? row.default]);
  return Object.fromEntries(resolved) as Settings;
}
