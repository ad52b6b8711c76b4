/** An offline replacement for Open-Meteo. It knows some cities, and never responds for one of them. */

import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";

export interface WeatherStandIn {
  /** The address that replaces both of Open-Meteo's addresses. */
  readonly url: string;
  /** Resolves at the next request for the city without a response. */
  nextHangingRequest(): Promise<unknown>;
  close(): Promise<void>;
}

/** Requests for this city get no response. They wait until they time out or are cancelled. */
export const HANGING_CITY = "Reykjavik";

const CITIES: ReadonlyMap<
  string,
  { country: string; weather: readonly [code: number, celsius: number, wind: number] }
> = new Map([
  ["Paris", { country: "France", weather: [2, 18.4, 11.2] }],
  ["Tokyo", { country: "Japan", weather: [61, 22.1, 7.6] }],
  ["Lima", { country: "Peru", weather: [3, 16.9, 14] }],
]);
const NAMES = [...CITIES.keys()];

export async function startWeatherStandIn(): Promise<WeatherStandIn> {
  const requests = new EventEmitter();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://stand-in");
    if (pathname === "/v1/search" && searchParams.get("name") === HANGING_CITY) {
      requests.emit("hanging");
      return;
    }
    const answer = pathname === "/v1/search" ? findCity(searchParams) : findWeather(searchParams);
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Expected a TCP port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    nextHangingRequest: () => once(requests, "hanging"),
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A city's position is derived from its index in the list, because the forecast is requested by position. */
function findCity(query: URLSearchParams): unknown {
  const name = query.get("name") ?? "";
  const number = NAMES.indexOf(name);
  if (number === -1) return {};
  return { results: [{ name, country: CITIES.get(name)?.country, latitude: number, longitude: number }] };
}

function findWeather(query: URLSearchParams): unknown {
  const [weather_code, temperature_2m, wind_speed_10m] =
    CITIES.get(NAMES[Number(query.get("latitude"))] ?? "")?.weather ?? [];
  return { current: { temperature_2m, wind_speed_10m, weather_code } };
}
