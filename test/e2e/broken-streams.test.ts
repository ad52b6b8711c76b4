/** Broken streams as the SDK's own client sees them, over the real server: `messages-tuple`, joined as `useStream` does. */

import type { BaseMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";
import { showRun } from "../support/stream-client.js";
import {
  answerFor,
  FAULT_SAMPLE,
  FAULT_THREADS,
  type FaultThread,
  respondToWish,
  shown,
  wish,
} from "../support/stream-faults.js";
import { pairedMessagesOf } from "../support/thread.js";
import { AGENTS } from "./shared-server.js";
import { startWeatherService, type WeatherService } from "./weather-service.js";

let models: ModelServer;
let weather: WeatherService;
let server: DevServer;

beforeAll(async () => {
  models = await startModelServer(respondToWish("weather"));
  weather = await startWeatherService();
  server = await startDevServer({
    config: AGENTS,
    env: {
      MODEL: "openai:test",
      OPENAI_BASE_URL: models.url,
      OPENAI_API_KEY: "x",
      OPEN_METEO_GEOCODING_URL: weather.url,
      OPEN_METEO_FORECAST_URL: weather.url,
    },
  });
});

afterAll(async () => {
  await server?.stop();
  await weather?.stop();
  await models?.stop();
});

interface Outcome {
  readonly client: readonly BaseMessage[];
  /** What the run has added to the thread. */
  readonly state: readonly BaseMessage[];
}

/** A thread with a first and a later turn that break. */
async function converse(cases: FaultThread, outcomes: Map<string, Outcome>): Promise<void> {
  const { client } = server;
  const { thread_id } = await client.threads.create();
  let known = 0;
  for (const fault of cases) {
    const { messages, failure } = await showRun(client, "agent", thread_id, wish(fault));
    if (failure !== undefined) throw failure;
    const state = pairedMessagesOf((await client.threads.getState(thread_id)).values);
    outcomes.set(fault.title, { client: messages, state: state.slice(known) });
    known = state.length;
  }
}

/** `test/graph/models/broken-streams.test.ts` has the whole table without a server; here it is for `SLOW_TESTS=1`. */
const THREADS = process.env["SLOW_TESTS"] === "1" ? FAULT_THREADS : FAULT_SAMPLE;

describe("a served stream whose", () => {
  const outcomes = new Map<string, Outcome>();
  /** As many at once as the server has workers. */
  beforeAll(async () => {
    const threads = [...THREADS];
    const work = async () => {
      for (let next = threads.pop(); next !== undefined; next = threads.pop()) await converse(next, outcomes);
    };
    await Promise.all(Array.from({ length: 10 }, work));
  });

  it.each(THREADS.flat())("$title: the SDK's client gets a whole response", ({ title, cities }) => {
    const { client, state } = outcomes.get(title) ?? { client: [], state: [] };
    expect(state.at(-1)?.text).toBe(answerFor(cities));
    expect(shown(client)).toEqual(shown(state));
    for (const city of cities) expect(weather.cities.filter((name) => name === city)).toEqual([city]);
  });
});
