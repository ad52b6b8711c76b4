import { createServer, type RequestListener } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { createWeatherTool, describeWeatherCode } from "../../../server/tools/weather.js";
import { listen } from "../../support/listen.js";

const PARIS = { name: "Paris", country: "France", latitude: 48.85, longitude: 2.35 };
const CURRENT = { temperature_2m: 12.3, wind_speed_10m: 14, weather_code: 61 };

async function serve(listener: RequestListener) {
  const { url, stop } = await listen(createServer(listener));
  onTestFinished(stop);
  return { weather: createWeatherTool({ geocodingBaseUrl: url, forecastBaseUrl: url }) };
}

/** Responds to the geocoding and the forecast path with these bodies, and records the requested URLs. */
async function serveWeather(places: unknown, forecast: unknown = { current: CURRENT }) {
  const urls: URL[] = [];
  const { weather } = await serve((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    urls.push(url);
    response.end(JSON.stringify(url.pathname === "/v1/search" ? places : forecast));
  });
  return { urls, weather };
}

it("tells the current weather of the city that it looked up", async () => {
  const { urls, weather } = await serveWeather({ results: [PARIS] });
  expect(await weather.invoke({ city: "Paris & around" })).toBe("Paris, France: rain, 12.3 °C, wind 14 km/h");
  const current = "temperature_2m,wind_speed_10m,weather_code";
  expect(urls.map((url) => [url.pathname, Object.fromEntries(url.searchParams)])).toEqual([
    ["/v1/search", { name: "Paris & around", count: "1" }],
    ["/v1/forecast", { latitude: "48.85", longitude: "2.35", current }],
  ]);
});

it.each([
  ["that it does not know a city", { time: 1 }, {}, 'The weather service knows no city named "Paris".'],
  [
    "that places have another shape",
    { results: [{ name: "Paris" }] },
    { current: CURRENT },
    "expected number",
  ],
  ["that a forecast has another shape", { results: [PARIS] }, { current: {} }, "expected number"],
])("says %s", async (_what, places, forecast, says) => {
  const { weather } = await serveWeather(places, forecast);
  await expect(weather.invoke({ city: "Paris" })).rejects.toThrow(says);
});

it("names the HTTP status of a failed request", async () => {
  const { weather } = await serve((_, response) => response.writeHead(503).end("busy"));
  await expect(weather.invoke({ city: "Paris" })).rejects.toThrow(
    "The weather service answered with HTTP status 503.",
  );
});

it("stops when the caller aborts", async () => {
  const controller = new AbortController();
  const { weather } = await serve(() => controller.abort());
  await expect(weather.invoke({ city: "Paris" }, { signal: controller.signal })).rejects.toThrow(/abort/i);
});

it("names a city without its country, if the service knows none", async () => {
  const { weather } = await serveWeather({ results: [{ ...PARIS, country: undefined }] });
  expect(await weather.invoke({ city: "Paris" })).toBe("Paris: rain, 12.3 °C, wind 14 km/h");
});

it.each([
  [0, "clear sky"],
  [95, "thunderstorm"],
  [142, "weather code 142"],
])("describes the weather code %i as %s", (code, text) => {
  expect(describeWeatherCode(code)).toBe(text);
});
