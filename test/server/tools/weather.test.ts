import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, expect, it } from "vitest";
import { createWeatherTool, describeWeatherCode } from "../../../server/tools/weather.js";

const PARIS = { name: "Paris", country: "France", latitude: 48.85, longitude: 2.35 };
const CURRENT = { temperature_2m: 12.3, wind_speed_10m: 14, weather_code: 61 };

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Expected a port.");
  return `http://127.0.0.1:${address.port}`;
}

/** Responds to the geocoding and the forecast path with these bodies, and records the requested URLs. */
async function serveWeather({ places, forecast }: { places: unknown; forecast: unknown }) {
  const urls: URL[] = [];
  const base = await serve((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    urls.push(url);
    response.end(JSON.stringify(url.pathname === "/v1/search" ? places : forecast));
  });
  return { urls, weather: createWeatherTool({ geocodingBaseUrl: base, forecastBaseUrl: base }) };
}

it("tells the current weather of the city that it looked up", async () => {
  const { urls, weather } = await serveWeather({
    places: { results: [PARIS] },
    forecast: { current: CURRENT },
  });
  expect(await weather.invoke({ city: "Paris & around" })).toBe(
    "Paris, France: slight rain, 12.3 °C, wind 14 km/h",
  );
  expect(urls.map((url) => [url.pathname, Object.fromEntries(url.searchParams)])).toEqual([
    ["/v1/search", { name: "Paris & around", count: "1" }],
    [
      "/v1/forecast",
      { latitude: "48.85", longitude: "2.35", current: "temperature_2m,wind_speed_10m,weather_code" },
    ],
  ]);
});

it("says that it does not know a city", async () => {
  const { weather } = await serveWeather({ places: { generationtime_ms: 1 }, forecast: {} });
  await expect(weather.invoke({ city: "Gotham" })).rejects.toThrow(
    'The weather service knows no city named "Gotham".',
  );
});

it.each([
  { title: "places", places: { results: [{ name: "Paris" }] }, forecast: { current: CURRENT } },
  { title: "a forecast", places: { results: [PARIS] }, forecast: { current: {} } },
])("says that it could not understand $title of another shape", async ({ places, forecast }) => {
  const { weather } = await serveWeather({ places, forecast });
  await expect(weather.invoke({ city: "Paris" })).rejects.toThrow("could not be understood");
});

it("names the HTTP status of a failed request", async () => {
  const base = await serve((_, response) => {
    response.statusCode = 503;
    response.end("busy");
  });
  await expect(createWeatherTool({ geocodingBaseUrl: base }).invoke({ city: "Paris" })).rejects.toThrow(
    "The weather service answered with HTTP status 503.",
  );
});

it("says why the service could not be reached", async () => {
  const base = await serve(() => {});
  for (const server of servers.splice(0)) server.close();
  await expect(createWeatherTool({ geocodingBaseUrl: base }).invoke({ city: "Paris" })).rejects.toThrow(
    /^The weather service could not be reached: .*ECONNREFUSED.*\.$/,
  );
});

it("gives up after its timeout", async () => {
  const base = await serve(() => {});
  const weather = createWeatherTool({ geocodingBaseUrl: base, timeoutMs: 50 });
  await expect(weather.invoke({ city: "Paris" })).rejects.toThrow(
    "The weather service could not be reached: no response within 50 ms.",
  );
});

it("stops when the caller aborts", async () => {
  const controller = new AbortController();
  const base = await serve(() => controller.abort());
  const weather = createWeatherTool({ geocodingBaseUrl: base });
  await expect(weather.invoke({ city: "Paris" }, { signal: controller.signal })).rejects.toThrow(/abort/i);
});

it("names a city without its country, if the service knows none", async () => {
  const places = { results: [{ ...PARIS, country: undefined }] };
  const { weather } = await serveWeather({ places, forecast: { current: CURRENT } });
  expect(await weather.invoke({ city: "Paris" })).toBe("Paris: slight rain, 12.3 °C, wind 14 km/h");
});

it.each([
  [0, "clear sky"],
  [95, "thunderstorm"],
  [42, "weather code 42"],
])("describes the weather code %i as %s", (code, text) => {
  expect(describeWeatherCode(code)).toBe(text);
});
