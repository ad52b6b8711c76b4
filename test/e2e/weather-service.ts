/** A stand-in for Open-Meteo that keeps some cities waiting, so that the product's weather tool is slow. */

import { once } from "node:events";
import { createServer } from "node:http";

export interface WeatherService {
  readonly url: string;
  /** The cities that were asked for, in order. One that begins with `Slow` is never answered. */
  readonly cities: readonly string[];
  stop(): Promise<void>;
}

export async function startWeatherService(): Promise<WeatherService> {
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
    if (!name.startsWith("Slow")) answer({ results: [{ name, country: "X", latitude: 1, longitude: 2 }] });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Expected a TCP port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    cities,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
