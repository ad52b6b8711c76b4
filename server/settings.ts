/** The served graph's settings. They are read from the environment once, when the server starts. */

import { checkAllowedSettings } from "../src/agent/settings/run-context.js";
import { type NamesWith, SETTINGS, type SettingsOptions } from "../src/agent/settings/settings.js";
import { inEnvironment, readVariable, type Setting, variableOf } from "../src/shared/check-settings.js";
import { type Environment, HTTP_URL } from "./access/server-settings.js";
import type { WeatherOptions } from "./tools/weather.js";

type EnvironmentOptions = Pick<SettingsOptions, NamesWith<{ readonly env: true | object }>>;

/** Where the served graph differs from the defaults of `createAgentGraph`. */
export const SERVED_DEFAULTS = {
  /** The offline model needs no key and no network. */
  model: "offline:",
  /** These tools' errors are written for the model to read. */
  includeDetailedErrors: true,
  /** Otherwise one message could start hundreds of calls at once. */
  maxToolCalls: 64,
  /** Anybody can be the served graph's client. Its instructions come from the operator. */
  acceptSystemMessages: false,
} as const satisfies EnvironmentOptions;

/**
 * Reads the settings from environment variables: options of `createAgentGraph`, and those of the weather tool. An empty
 * variable counts as not set.
 *
 * @throws InvalidSettingError for the first variable with an invalid value. The error names the variable.
 */
export function readSettings(environment: Environment) {
  const read = Object.entries<Setting>(SETTINGS).flatMap(([option, row]) => {
    const value = row.env && readVariable(environment, variableOf(option), inEnvironment(row));
    return value === undefined ? [] : [[option, value]];
  });
  const options: EnvironmentOptions = { ...SERVED_DEFAULTS, ...Object.fromEntries(read) };
  checkAllowedSettings(options.allowedSettings, variableOf("allowedSettings"));
  // For paid plans of Open-Meteo, and for its self-hosted servers.
  const weather = {
    geocodingBaseUrl: readVariable(environment, "OPEN_METEO_GEOCODING_URL", HTTP_URL),
    forecastBaseUrl: readVariable(environment, "OPEN_METEO_FORECAST_URL", HTTP_URL),
  };
  return { options, weather: weather as WeatherOptions };
}
