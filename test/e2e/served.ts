/** A development server for the tests of one file, and threads of it. */

import { readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import type { Client, RunsInvokePayload } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import { messagesOf, pairedMessagesOf, script, user } from "../fixtures/thread.js";
import { startWeatherService, type WeatherService } from "./weather-service.js";

export const AGENTS = fileURLToPath(new URL("../fixtures/agents/langgraph.json", import.meta.url));
const START_TIMEOUT_MS = 60_000;

export interface Served {
  readonly client: Client;
  readonly weather: WeatherService;
  /** What the tools of the fixture did, as `begin name:label` and `end name:label`. */
  log(): string[];
  /** A new thread of a graph. */
  thread(graph: string): Promise<Thread>;
}

/** Serves the product's graph and the fixture's; stops when the file's tests have ended. */
export function serve(): Served {
  let server: DevServer | undefined;
  let weather: WeatherService | undefined;
  let directory = "";
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "tether-e2e-"));
    weather = await startWeatherService();
    server = await startDevServer({
      config: AGENTS,
      env: {
        TOOL_LOG: join(directory, "tools.log"),
        MODEL: "offline:",
        OPEN_METEO_GEOCODING_URL: weather.url,
        OPEN_METEO_FORECAST_URL: weather.url,
      },
    });
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await server?.stop();
    await weather?.stop();
    rmSync(directory, { recursive: true, force: true });
  }, START_TIMEOUT_MS);

  const served: Served = {
    get client() {
      if (server === undefined) throw new Error("The server runs only while tests do.");
      return server.client;
    },
    get weather() {
      if (weather === undefined) throw new Error("The service runs only while tests do.");
      return weather;
    },
    log: () => readLog(join(directory, "tools.log")),
    thread: async (graph) =>
      new Thread(served.client, graph, (await served.client.threads.create()).thread_id),
  };
  return served;
}

export function readLog(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** Resolves when the check holds, which is asked every few milliseconds. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error("It did not happen within 20 s.");
    await delay(20);
  }
}

type RunOptions = Omit<RunsInvokePayload, "input">;

export class Thread {
  readonly client: Client;
  readonly graph: string;
  readonly id: string;

  constructor(client: Client, graph: string, id: string) {
    this.client = client;
    this.graph = graph;
    this.id = id;
  }

  /** Sends a message and waits for the end of the run. */
  async send(text: string, options: RunOptions = {}): Promise<string[]> {
    const values = await this.client.runs.wait(this.id, this.graph, { ...options, input: user(text) });
    return script(pairedMessagesOf(values));
  }

  /** Sends a message, and returns the id of the run that it began. */
  async begin(text: string, options: RunOptions = {}): Promise<string> {
    const run = await this.client.runs.create(this.id, this.graph, { ...options, input: user(text) });
    return run.run_id;
  }

  /** The messages of the state, which must be in the form that every state has. */
  async messages(): Promise<BaseMessage[]> {
    return messagesOf((await this.client.threads.getState(this.id)).values);
  }

  /** The script of the state, in which no call may wait. */
  async script(): Promise<string[]> {
    return script(pairedMessagesOf({ messages: await this.messages() }));
  }

  /** What every scenario ends with: another turn with a tool, and a history that a provider accepts. */
  async expectToGoOn(options: RunOptions = {}): Promise<void> {
    const before = await this.script();
    const label = `after-${this.id}`;
    const request = this.graph === "agent" ? "what is 20+22" : `call deaf {"label": "${label}"}`;
    const result = this.graph === "agent" ? "42" : `deaf done ${label}`;
    const after = await this.send(request, options);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length)).toEqual([
      `human: ${request}`,
      this.graph === "agent" ? "ai> calculator" : "ai> deaf",
      `tool: ${result}`,
      expect.stringContaining(result),
    ]);
    expect(await this.script()).toEqual(after);
  }
}
