/** A stand-in for Open-Meteo that keeps some cities waiting, so that the product's weather tool is slow. */

import { createServer } from "node:http";
import { type Listening, listen } from "../support/listen.js";

/** @param onCity Contract: called with each city that is asked for; must not throw. One that begins with `Slow` is never answered. */
export async function startWeatherService(onCity: (city: string) => void = () => {}): Promise<Listening> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const answer = (body: object) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    if (pathname === "/v1/forecast") {
      answer({ current: { temperature_2m: 21, wind_speed_10m: 5, weather_code: 0 } });
      return;
    }
    const name = searchParams.get("name") ?? "";
    onCity(name);
    if (!name.startsWith("Slow")) answer({ results: [{ name, country: "X", latitude: 1, longitude: 2 }] });
  });
  return listen(server);
}
