/** The product's graph with a real client, over the real server: a strict provider rejects none of its histories. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import { allOf } from "../support/all-of.js";
import type { Asked, Reply } from "../support/strict-provider/reply.js";
import {
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { user } from "../support/thread.js";
import { Thread } from "./served.js";
import { startWeatherService, type WeatherService } from "./weather-service.js";

/** A model that, like some compatible servers, gives no finish reasons. */
const OMITS = "omits";
const KEY = "Recognisable0Key1Of2The3Test";

let strict: StrictProvider;
let weather: WeatherService;
let server: DevServer;
/** The models of the requests that were accepted. */
const asked: string[] = [];

/** The words of the user's last line: each is a city whose weather is asked for. A line with a dot asks for nothing. */
function reply({ model, messages }: Asked): Reply {
  asked.push(model);
  const place = messages.findLastIndex(({ role }) => role === "user");
  const line = String(messages[place]?.content).split("\n").at(-1) ?? "";
  const results = messages.slice(place).filter(({ role }) => role === "tool");
  if (line.endsWith(".")) return { text: `So be it: ${line}`, ...(model === OMITS && { finish: "" }) };
  if (results.length > 0) return { text: results.map(({ content }) => content).join(" And ") };
  const calls = line.split(" ").map((city) => ({ name: "weather", args: { city } }));
  return { calls };
}

beforeAll(async () => {
  strict = await startStrictProvider(reply);
  weather = await startWeatherService();
  server = await startDevServer({
    env: {
      MODEL: "openai:gpt-5",
      MODELS: `openai:${OMITS}`,
      OPENAI_BASE_URL: `${strict.url("openai")}/v1`,
      OPENAI_API_KEY: KEY,
      // The address stands for that of OpenAI.
      DIALECT: "openai",
      OPEN_METEO_GEOCODING_URL: weather.url,
      OPEN_METEO_FORECAST_URL: weather.url,
    },
  });
});

afterAll(async () => {
  await server?.stop();
  await weather?.stop();
  await strict?.stop();
});

const createThread = async () =>
  new Thread(server.client, "agent", (await server.client.threads.create()).thread_id);

it("The next run remembers what a run learned about a model: no request is repeated for a missing finish reason.", async () => {
  const options = { context: { model: `openai:${OMITS}` } };
  const requests = () => asked.filter((model) => model === OMITS).length;
  await (await createThread()).send("One.", options);
  expect(requests()).toBe(2);
  await (await createThread()).send("Two.", options);
  await (await createThread()).send("Three.", options);
  expect(requests()).toBe(4);
});

it("A refusal reaches the client with the provider's text; the key is not in it, the thread or the log.", async () => {
  const thread = await createThread();
  const message = `Incorrect API key provided: ${KEY}.`;
  strict.failNext({ status: 401, body: { error: { message, code: "invalid_api_key" } } });
  const events = await allOf(
    thread.client.runs.stream(thread.id, thread.graph, {
      input: user("Hello."),
      streamMode: ["values", "messages-tuple", "custom", "debug", "events"],
    }),
  );
  expect(events.at(-1)).toMatchObject({
    event: "error",
    data: {
      error: "ModelError",
      message: "The provider refused the request with status 401: Incorrect API key provided: [redacted].",
    },
  });
  const history = await thread.client.threads.getHistory(thread.id);
  expect(history).not.toEqual([]);
  expect(server.output()).toContain("status 401");
  expect(JSON.stringify([events, history, server.output()])).not.toContain(KEY);
  expect(await thread.send("Again.")).toEqual(["human: Hello.", "human: Again.", "ai: So be it: Again."]);
});
