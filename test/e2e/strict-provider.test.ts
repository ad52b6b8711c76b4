/** The product's graph with a real client, over the real server: a strict provider rejects none of its histories. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

/** The texts of the assistant that one run streams, joined by id as clients do. */
async function streamTexts(thread: Thread, text: string): Promise<string[]> {
  const texts = new Map<string, string>();
  const run = thread.client.runs.stream(thread.id, thread.graph, {
    input: user(text),
    streamMode: "messages-tuple",
  });
  for await (const { event, data } of run) {
    if (event === "error") throw new Error(JSON.stringify(data));
    if (event !== "messages") continue;
    const [{ id = "", type, content }] = data as unknown as [{ id?: string; type: string; content: string }];
    if (type.toLowerCase().startsWith("ai")) texts.set(id, (texts.get(id) ?? "") + content);
  }
  return [...texts.values()].filter((whole) => whole !== "");
}

const sky = (city: string) => `${city}, X: clear sky, 21 °C, wind 5 km/h`;

const askedFor = (...cities: string[]) => weather.cities.filter((city) => cities.includes(city)).toSorted();

function expectNothingRefused(): void {
  expect(strict.statuses.filter((status) => status !== 200)).toEqual([]);
}

describe.concurrent("a strict provider accepts", () => {
  it("two turns of calls and results; the streamed text is the final one", async () => {
    const thread = await createThread();
    const first = [sky("Oslo"), sky("Rome")].join(" And ");
    expect(await streamTexts(thread, "Oslo Rome")).toEqual([first]);
    expect(await streamTexts(thread, "Lima")).toEqual([sky("Lima")]);
    expect(await thread.script()).toEqual([
      "human: Oslo Rome",
      "ai> weather weather",
      `tool: ${sky("Oslo")}`,
      `tool: ${sky("Rome")}`,
      `ai: ${first}`,
      "human: Lima",
      "ai> weather",
      `tool: ${sky("Lima")}`,
      `ai: ${sky("Lima")}`,
    ]);
    expect(askedFor("Oslo", "Rome", "Lima")).toEqual(["Lima", "Oslo", "Rome"]);
    expectNothingRefused();
  });

  it("a thread that a state update has left broken", async () => {
    const thread = await createThread();
    await thread.send("Hello.");
    const id = `call_${"x".repeat(60)}|fc_1`;
    const call = (name: string) => ({ id, name, args: {}, type: "tool_call" });
    await thread.client.threads.updateState(thread.id, {
      values: {
        messages: [
          { role: "user", content: "" },
          { role: "assistant", content: "", tool_calls: [call("weather"), call("no such tool")] },
          { role: "tool", content: "half of it", tool_call_id: id },
          { role: "assistant", content: "" },
          { role: "system", content: "Be brief." },
          { role: "tool", content: "nobody asked", tool_call_id: "call_unknown" },
        ],
      },
    });
    expect(await streamTexts(thread, "Quito")).toEqual([sky("Quito")]);
    expect((await thread.script()).slice(3, 6)).toEqual([
      "ai> weather no such tool",
      "tool: half of it",
      expect.stringMatching(/^tool! Tool call no such tool/),
    ]);
    expect(askedFor("Quito")).toEqual(["Quito"]);
    expectNothingRefused();
  });
});

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
