/**
 * One development server for all files that `serve()` it, as each takes seconds to start: started when the first
 * file asks for it, so that a run without any has none, and stopped after the last test.
 */

import { appendFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { startDevServer } from "../../scripts/dev-server.js";
import { playCalls } from "../support/call-script.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { provideLazily } from "./provide-lazily.js";
import { startWeatherService } from "./weather-service.js";

export const AGENTS = fileURLToPath(new URL("../fixtures/agents/langgraph.json", import.meta.url));

/** What the tests, which run in other processes, are told of it. */
export interface SharedServer {
  readonly url: string;
  /** The file of what the tools of the fixture did. */
  readonly toolLog: string;
  /** The file of the cities whose weather was asked for. */
  readonly cityLog: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** Answers with the {@link SharedServer} when it runs, or with status 500 and the reason why it does not. */
    readonly sharedServer: string;
  }
}

/** What vitest calls before all tests; it calls what is returned after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, stop } = await provideLazily(start);
  project.provide("sharedServer", url);
  return stop;
}

async function start() {
  const directory = await mkdtemp(join(tmpdir(), "tether-e2e-"));
  const toolLog = join(directory, "tools.log");
  const cityLog = join(directory, "cities.log");
  const weather = await startWeatherService((city) => appendFileSync(cityLog, `${city}\n`));
  const strict = await startStrictProvider(playCalls);
  const stopRest = async () => {
    await strict.stop();
    await weather.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const server = await startDevServer({
      config: AGENTS,
      startTimeoutMs: 150_000,
      env: {
        TOOL_LOG: toolLog,
        MODEL: "offline:",
        STRICT_URL: new URL(strict.url("openai")).origin,
        OPEN_METEO_GEOCODING_URL: weather.url,
        OPEN_METEO_FORECAST_URL: weather.url,
      },
    });
    const shared: SharedServer = { url: server.url, toolLog, cityLog };
    return {
      shared,
      output: () => server.output(),
      stop: async () => {
        await server.stop();
        await stopRest();
      },
    };
  } catch (error) {
    await stopRest();
    throw error;
  }
}
