/** One development server with users, for all tests of access control: see `shared-server.ts`. */

import { createServer } from "node:http";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import type { TestProject } from "vitest/node";
import { startDevServer } from "../../../scripts/dev-server.js";
import { makeApiKey } from "../../../server/access/authenticate.js";
import { listen } from "../../support/listen.js";
import { provideLazily, type StartedServer } from "../provide-lazily.js";
import { AGENTS } from "../shared-server.js";

export const ISSUER = "https://issuer.example";
export const AUDIENCE = "agents";
export const MOST_RUNS = 4;

/** What the tests are told of it. */
export interface UsersServer {
  readonly url: string;
  /** The API keys of its users. */
  readonly keys: { readonly [user: string]: string };
  /** The private key of the issuer of tokens, in PEM form. */
  readonly issuerKey: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** Answers with the {@link UsersServer}. */
    readonly usersServer: string;
  }
}

/** What vitest calls before all tests; it calls what is returned after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, stop } = await provideLazily(start);
  project.provide("usersServer", url);
  return stop;
}

async function start(): Promise<StartedServer> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "RS256", use: "sig" }] };
  const issuer = await listen(createServer((_, response) => response.end(JSON.stringify(jwks))));
  const made = ["ann@example.com", "bob", "limited"].map((user) => ({ user, ...makeApiKey(user) }));
  try {
    const server = await startDevServer({
      config: AGENTS,
      startTimeoutMs: 150_000,
      env: {
        MODEL: "offline:",
        AUTH_API_KEYS: made.map(({ entry }) => entry).join(","),
        AUTH_JWT_ISSUER: ISSUER,
        AUTH_JWT_AUDIENCE: AUDIENCE,
        AUTH_JWT_ALGORITHM: "RS256",
        AUTH_JWT_JWKS_URL: `${issuer.url}/jwks`,
        COVERED_MESSAGES: "archive",
        MAX_MESSAGES_BEFORE_SUMMARY: "6",
        ALLOWED_SETTINGS: "maxIterations,maxMessagesBeforeSummary",
        MAX_RUNS_PER_USER: String(MOST_RUNS),
        MAX_REQUEST_BYTES: "200000",
        MAX_MESSAGE_LENGTH: "50000",
        LOG_JSON: "true",
        LOG_LEVEL: "info",
      },
    });
    const shared: UsersServer = {
      url: server.url,
      keys: Object.fromEntries(made.map(({ user, key }) => [user, key])),
      issuerKey: await exportPKCS8(privateKey),
    };
    return {
      shared,
      output: () => server.output(),
      stop: async () => {
        await server.stop();
        await issuer.stop();
      },
    };
  } catch (error) {
    await issuer.stop();
    throw error;
  }
}
