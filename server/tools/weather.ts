/** Current weather from Open-Meteo, which needs no key. */

import { type ToolRuntime, tool } from "@langchain/core/tools";
import { z } from "zod/v4";

export interface WeatherOptions {
  /** Base URL of the service that finds cities. @default "https://geocoding-api.open-meteo.com" */
  readonly geocodingBaseUrl?: string | undefined;
  /** Base URL of the service that reports the weather. @default "https://api.open-meteo.com" */
  readonly forecastBaseUrl?: string | undefined;
}

/** Time limit of each of the two requests, in milliseconds. */
const TIMEOUT = 8000;

const weatherSchema = z.object({
  city: z.string().trim().min(1).describe('Name of a city, such as "Paris".'),
});
const placeSchema = z.object({
  name: z.string(),
  country: z.string().optional(),
  latitude: z.number(),
  longitude: z.number(),
});
const placesSchema = z.object({ results: z.array(placeSchema).default([]) });
const forecastSchema = z.object({
  current: z.object({ temperature_2m: z.number(), wind_speed_10m: z.number(), weather_code: z.number() }),
});

export function createWeatherTool({
  geocodingBaseUrl = "https://geocoding-api.open-meteo.com",
  forecastBaseUrl = "https://api.open-meteo.com",
}: WeatherOptions = {}) {
  return tool(
    async ({ city }: z.infer<typeof weatherSchema>, { signal }: ToolRuntime) => {
      const places = await ask(`${geocodingBaseUrl}/v1/search`, { name: city, count: "1" }, signal);
      const [place] = placesSchema.parse(places).results;
      if (place === undefined) throw new Error(`The weather service knows no city named "${city}".`);
      const query = {
        latitude: String(place.latitude),
        longitude: String(place.longitude),
        current: "temperature_2m,wind_speed_10m,weather_code",
      };
      const { current } = forecastSchema.parse(await ask(`${forecastBaseUrl}/v1/forecast`, query, signal));
      const name = [place.name, place.country].filter(Boolean).join(", ");
      const sky = describeWeatherCode(current.weather_code);
      return `${name}: ${sky}, ${current.temperature_2m} °C, wind ${current.wind_speed_10m} km/h`;
    },
    { name: "weather", description: "Tells the current weather in a city.", schema: weatherSchema },
  );
}

/** The JSON that the service answers with. */
async function ask(
  address: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const timeout = AbortSignal.timeout(TIMEOUT);
  const response = await fetch(`${address}?${new URLSearchParams(query)}`, {
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  });
  if (response.ok) return response.json();
  throw new Error(`The weather service answered with HTTP status ${response.status}.`);
}

/** The WMO codes of present weather that Open-Meteo uses, up to each of these: https://open-meteo.com/en/docs */
const SKIES: readonly (readonly [most: number, sky: string])[] = [
  [0, "clear sky"],
  [3, "cloudy"],
  [48, "fog"],
  [67, "rain"],
  [77, "snow"],
  [86, "showers"],
  [99, "thunderstorm"],
];

export function describeWeatherCode(code: number): string {
  return SKIES.find(([most]) => code <= most)?.[1] ?? `weather code ${code}`;
}
