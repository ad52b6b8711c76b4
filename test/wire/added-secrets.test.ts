/**
 * Secrets that the user adds to a client's requests do not appear in its errors, even if a server repeats a request.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { user } from "../support/thread.js";

/** Short secrets that do not look like keys. */
const SECRETS = {
  custom: "Custom-7-value",
  proxy: "pr0xy",
  session: "s3ss1on",
  signature: "s/i+g=1",
  key: "k3y7",
} as const;

const ADDED = {
  defaultHeaders: {
    "X-Custom": SECRETS.custom,
    "x-proxy-auth": SECRETS.proxy,
    Cookie: `theme=dark; sid=${SECRETS.session}`,
  },
  defaultQuery: { sig: SECRETS.signature },
};

const CLIENTS: readonly (readonly [name: string, make: (url: string) => BaseChatModel])[] = [
  [
    "ChatOpenAI",
    (url) =>
      new ChatOpenAI({
        model: "gpt-5",
        apiKey: SECRETS.key,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1`, ...ADDED },
      }),
  ],
  [
    "ChatAnthropic",
    (url) =>
      new ChatAnthropic({
        model: "claude-sonnet-4-5",
        apiKey: SECRETS.key,
        maxRetries: 0,
        anthropicApiUrl: url,
        clientOptions: ADDED,
      }),
  ],
];

/** Repeats only the secrets of the request, because a long text would be cut. */
const mirror = createServer((request, response) => {
  request.resume();
  const { cookie = "", authorization, ...headers } = request.headers;
  const { searchParams } = new URL(request.url ?? "/", "http://mirror");
  const sent = [cookie, cookie.split("sid=")[1], headers["x-custom"], headers["x-proxy-auth"], request.url];
  const message = ["Refused:", ...sent, searchParams.get("sig"), headers["x-api-key"], authorization].join(
    " ",
  );
  response.writeHead(401, { "content-type": "application/json" });
  response.end(JSON.stringify({ message, error: { message, type: "refused" } }));
});

let url = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => mirror.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;
});
afterAll(async () => {
  mirror.closeAllConnections();
  await new Promise((resolve) => mirror.close(resolve));
});

const everythingIn = (value: unknown) =>
  inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true, maxStringLength: null });

it.each(CLIENTS)("%s does not reveal secrets that were added to its requests", async (_name, make) => {
  const own: unknown = await make(url)
    .invoke("hello")
    .catch((error: unknown) => error);
  const ours: unknown = await createAgentGraph({ model: make(url) })
    .invoke(user("hello"))
    .catch((error: unknown) => error);
  expect(ours).toBeInstanceOf(ModelError);
  for (const [name, secret] of Object.entries(SECRETS)) {
    // Without this check, the server could have repeated nothing.
    expect(everythingIn(own), name).toContain(secret);
    expect(everythingIn(ours), name).not.toContain(secret);
    expect(everythingIn(ours), name).not.toContain(encodeURIComponent(secret));
  }
});
