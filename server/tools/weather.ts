/** Current weather from Open-Meteo, which needs no key. */

import { type ToolRuntime, tool } from "@langchain/core/tools";
import { z } from "zod/v4";
import { isError } from "../../src/shared/is-error.js";
import { parseJson } from "../../src/shared/json.js";

export interface WeatherOptions {
  /** Base URL of the service that finds cities. @default "https://geocoding-api.open-meteo.com" */
  readonly geocodingBaseUrl?: string | undefined;
  /** Base URL of the service that reports the weather. @default "https://api.open-meteo.com" */
  readonly forecastBaseUrl?: string | undefined;
  /** Time limit of each of the two requests, in milliseconds. @default 8000 */
  readonly timeoutMs?: number | undefined;
}

const weatherSchema = z.object({
  city: z.string().trim().min(1).describe('Name of a city, such as "Paris".'),
});

const placesSchema = z.object({
  results: z
    .array(
      z.object({
        name: z.string(),
        country: z.string().optional(),
        latitude: z.number(),
        longitude: z.number(),
      }),
    )
    .default([]),
});

const forecastSchema = z.object({
  current: z.object({ temperature_2m: z.number(), wind_speed_10m: z.number(), weather_code: z.number() }),
});

export function createWeatherTool({
  geocodingBaseUrl = "https://geocoding-api.open-meteo.com",
  forecastBaseUrl = "https://api.open-meteo.com",
  timeoutMs = 8000,
}: WeatherOptions = {}) {
  return tool(
    async ({ city }: z.infer<typeof weatherSchema>, { signal }: ToolRuntime) => {
      const ask = <T>(address: string, query: Readonly<Record<string, string>>, schema: z.ZodType<T>) =>
        getJson(`${address}?${new URLSearchParams(query)}`, schema, timeoutMs, signal);
      const places = await ask(`${geocodingBaseUrl}/v1/search`, { name: city, count: "1" }, placesSchema);
      const [place] = places.results;
      if (place === undefined) throw new Error(`The weather service knows no city named "${city}".`);

      const query = {
        latitude: String(place.latitude),
        longitude: String(place.longitude),
        current: "temperature_2m,wind_speed_10m,weather_code",
      };
      const { current } = await ask(`${forecastBaseUrl}/v1/forecast`, query, forecastSchema);
      const name = [place.name, place.country].filter(Boolean).join(", ");
      const sky = describeWeatherCode(current.weather_code);
      return `${name}: ${sky}, ${current.temperature_2m} °C, wind ${current.wind_speed_10m} km/h`;
    },
    {
      name: "weather",
      description: "Tells the current weather in a city.",
      schema: weatherSchema,
    },
  );
}

async function getJson<T>(
  url: string,
  schema: z.ZodType<T>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let body: string;
  try {
    response = await fetch(url, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    body = await response.text();
  } catch (error) {
    // An abort by the caller is not a fault of the service.
    signal?.throwIfAborted();
    const reason = timeout.aborted ? `no response within ${timeoutMs} ms` : readReason(error);
    throw new Error(`The weather service could not be reached: ${reason}.`, { cause: error });
  }
  const { status } = response;
  if (status !== 200) throw new Error(`The weather service answered with HTTP status ${status}.`);
  const { data } = schema.safeParse(parseJson(body));
  if (data === undefined)
    throw new Error("The weather service sent a response that could not be understood.");
  return data;
}

/** `fetch` says only "fetch failed". The cause says what failed; after several addresses it only has a `code`. */
function readReason(error: unknown): string {
  if (!isError(error)) return String(error);
  const { cause } = error;
  if (!isError(cause)) return error.message;
  return cause.message || ("code" in cause ? String(cause.code) : error.message);
}

/** The WMO codes of present weather that Open-Meteo uses: https://open-meteo.com/en/docs */
const WEATHER_CODES: ReadonlyMap<number, string> = new Map([
  [0, "clear sky"],
  [1, "mainly clear"],
  [2, "partly cloudy"],
  [3, "overcast"],
  [45, "fog"],
  [48, "depositing rime fog"],
  [51, "light drizzle"],
  [53, "moderate drizzle"],
  [55, "dense drizzle"],
  [56, "light freezing drizzle"],
  [57, "dense freezing drizzle"],
  [61, "slight rain"],
  [63, "moderate rain"],
  [65, "heavy rain"],
  [66, "light freezing rain"],
  [67, "heavy freezing rain"],
  [71, "slight snowfall"],
  [73, "moderate snowfall"],
  [75, "heavy snowfall"],
  [77, "snow grains"],
  [80, "slight rain showers"],
  [81, "moderate rain showers"],
  [82, "violent rain showers"],
  [85, "slight snow showers"],
  [86, "heavy snow showers"],
  [95, "thunderstorm"],
  [96, "thunderstorm with slight hail"],
  [99, "thunderstorm with heavy hail"],
]);

export function describeWeatherCode(code: number): string {
  return WEATHER_CODES.get(code) ?? `weather code ${code}`;
}
