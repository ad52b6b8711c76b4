/** A stand-in for Open-Meteo that keeps some cities waiting, so that the product's weather tool is slow. */

import { createServer } from "node:http";
import { type Listening, listen } from "../support/listen.js";

export interface WeatherService extends Listening {
  /** The cities that were asked for, in order. One that begins with `Slow` is never answered. */
  readonly cities: readonly string[];
}

/** @param onCity Contract: called with each city that is asked for; must not throw. */
export async function startWeatherService(
  onCity: (city: string) => void = () => {},
): Promise<WeatherService> {
  const cities: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const answer = (body: object) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    if (pathname === "/v1/forecast") {
      answer({ current: { temperature_2m: 21, wind_speed_10m: 5, weather_code: 0 } });
      return;
    }
    const name = searchParams.get("name") ?? "";
    cities.push(name);
    onCity(name);
    if (!name.startsWith("Slow")) answer({ results: [{ name, country: "X", latitude: 1, longitude: 2 }] });
  });
  return { cities, ...(await listen(server)) };
}
