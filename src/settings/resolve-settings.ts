import { checkSettings } from "./rule.js";
import { SETTINGS, type Settings, type SettingsOptions } from "./settings.js";

/**
 * The options of a graph, with the default for each option that is left out or undefined.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not take.
 */
export function resolveSettings(options: SettingsOptions): Settings {
  checkSettings(options, SETTINGS, "options");
  const given = new Map<string, unknown>(Object.entries(options));
  const resolved = Object.entries(SETTINGS).map(([name, row]) => [name, given.get(name) ?? row.default]);
  return Object.fromEntries(resolved) as Settings;
}
