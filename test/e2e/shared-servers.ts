/**
 * Two development servers for all tests, as each takes seconds to start: one without users, and one with. Each starts
 * when the first file asks for it, so that a run without any has none, and stops after the last test.
 */

import { appendFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import type { TestProject } from "vitest/node";
import { makeApiKey } from "../../scripts/api-key/make-api-key.js";
import { startDevServer } from "../../scripts/dev-server.js";
import { playCalls } from "../support/call-script.js";
import { listen } from "../support/listen.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { startWeatherService } from "./weather-service.js";

export const AGENTS = fileURLToPath(new URL("../fixtures/agents/langgraph.json", import.meta.url));
export const ISSUER = "https://issuer.example";
export const AUDIENCE = "agents";

/** What the tests, which run in other processes, are told of the server without users. */
export interface SharedServer {
  readonly url: string;
  /** The file of what the tools of the fixture did. */
  readonly toolLog: string;
  /** The file of the cities whose weather was asked for. */
  readonly cityLog: string;
}

/** What they are told of the one with users. */
export interface UsersServer {
  readonly url: string;
  /** The API keys of its users. */
  readonly keys: { readonly [user: string]: string };
  /** The private key of the issuer of tokens, in PEM form. */
  readonly issuerKey: string;
}

declare module "vitest" {
  /**
   * An address answers with what is told of its server, below `/output` with what the server has printed, or with
   * status 500 and the reason why it does not run.
   */
  interface ProvidedContext {
    readonly sharedServer: string;
    readonly usersServer: string;
  }
}

interface Started {
  readonly told: object;
  output(): string;
}

/** Stops what was started before, in reverse. */
type AtEnd = (stop: () => Promise<unknown>) => void;

/** What vitest calls before all tests; it calls what is returned after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stops: (() => Promise<unknown>)[] = [];
  const atEnd: AtEnd = (stop) => void stops.unshift(stop);
  for (const [name, start] of [
    ["sharedServer", startShared],
    ["usersServer", startUsers],
  ] as const) {
    let starting: Promise<Started> | undefined;
    const door = createServer(async ({ url: path }, response) => {
      starting ??= start(atEnd);
      await starting.then(
        ({ told, output }) => response.end(path === "/output" ? output() : JSON.stringify(told)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
    const { url, stop } = await listen(door);
    // Why it did not start, the tests have said.
    atEnd(() => stop().then(() => starting?.catch(() => undefined)));
    project.provide(name, url);
  }
  return async () => {
    for (let stop = stops.shift(); stop !== undefined; stop = stops.shift()) await stop();
  };
}

async function startShared(atEnd: AtEnd): Promise<Started> {
  const directory = await mkdtemp(join(tmpdir(), "tether-e2e-"));
  atEnd(() => rm(directory, { recursive: true, force: true }));
  const toolLog = join(directory, "tools.log");
  const cityLog = join(directory, "cities.log");
  const weather = await startWeatherService((city) => appendFileSync(cityLog, `${city}\n`));
  atEnd(weather.stop);
  const strict = await startStrictProvider(playCalls);
  atEnd(() => strict.stop());
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
  atEnd(server.stop);
  const told: SharedServer = { url: server.url, toolLog, cityLog };
  return { told, output: server.output };
}

async function startUsers(atEnd: AtEnd): Promise<Started> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "RS256", use: "sig" }] };
  const issuer = await listen(createServer((_, response) => response.end(JSON.stringify(jwks))));
  atEnd(issuer.stop);
  const made = ["ann@example.com", "bob"].map((user) => ({ user, ...makeApiKey(user) }));
  const server = await startDevServer({
    config: AGENTS,
    startTimeoutMs: 150_000,
    env: {
      MODEL: "offline:",
      AUTH_API_KEYS: made.map(({ entry }) => entry).join(","),
      AUTH_JWT_ISSUER: ISSUER,
      AUTH_JWT_AUDIENCE: AUDIENCE,
      AUTH_JWT_JWKS_URL: `${issuer.url}/jwks`,
      COVERED_MESSAGES: "archive",
      MAX_MESSAGES_BEFORE_SUMMARY: "6",
      ALLOWED_SETTINGS: "maxIterations,maxMessagesBeforeSummary",
      LOG_JSON: "true",
      LOG_LEVEL: "info",
    },
  });
  atEnd(server.stop);
  const keys = Object.fromEntries(made.map(({ user, key }) => [user, key]));
  const told: UsersServer = { url: server.url, keys, issuerKey: await exportPKCS8(privateKey) };
  return { told, output: server.output };
}
