/** The settings of the served graph. They are read from the environment once, when the server starts. */

import { z } from "zod";
import { InvalidSettingError } from "../errors.js";
import type { Setting } from "../settings/setting.js";
import { type NamesWith, SETTINGS, type SettingsOptions } from "../settings/settings.js";
import type { WeatherOptions } from "./tools/weather.js";

type Environment = Readonly<Record<string, string | undefined>>;
type EnvironmentOptions = Pick<SettingsOptions, NamesWith<{ readonly env: object }>>;

/** Where the served graph differs from the defaults of `createAgentGraph`. */
export const SERVED_DEFAULTS = {
  /** It needs no key and no network. */
  model: "offline:",
  /** The tools of this deployment write their errors for the model. */
  includeDetailedErrors: true,
} as const satisfies EnvironmentOptions;

/** For customers of Open-Meteo, and for those who host it themselves. */
const OPEN_METEO = {
  geocodingBaseUrl: "OPEN_METEO_GEOCODING_URL",
  forecastBaseUrl: "OPEN_METEO_FORECAST_URL",
} as const satisfies Partial<Record<keyof WeatherOptions, string>>;

const urlSchema = z.url({ protocol: /^https?$/ });

export interface ServedSettings {
  /** Options of `createAgentGraph`. */
  readonly options: EnvironmentOptions;
  readonly weather: WeatherOptions;
}

/**
 * An empty variable counts as not set.
 *
 * @throws InvalidSettingError that names the first variable whose value cannot be used.
 */
export function readSettings(environment: Environment): ServedSettings {
  const textOf = (variable: string) => environment[variable]?.trim() || undefined;
  const options = new Map<string, unknown>(Object.entries(SERVED_DEFAULTS));
  for (const [option, { env, schema, expects }] of Object.entries<Setting>(SETTINGS)) {
    const text = env && textOf(env.name);
    if (env === undefined || text === undefined) continue;
    const { success, data } = schema.safeParse(env.read(text));
    if (!success) throw InvalidSettingError.expected(env.name, env.expects ?? expects, text);
    options.set(option, data);
  }
  const weather = new Map<string, string>();
  for (const [option, variable] of Object.entries(OPEN_METEO)) {
    const url = textOf(variable);
    if (url === undefined) continue;
    if (!urlSchema.safeParse(url).success)
      throw InvalidSettingError.expected(variable, "an http(s) URL", url);
    weather.set(option, url);
  }
  return {
    options: Object.fromEntries(options) as unknown as EnvironmentOptions,
    weather: Object.fromEntries(weather),
  };
}
