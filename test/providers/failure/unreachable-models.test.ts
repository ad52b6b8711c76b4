/** The error of an unreachable model names the address, and no key. */

import { createServer } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { createAgentGraph, createModel, ModelError } from "../../../src/index.js";
import { addressOf, toModelError } from "../../../src/providers/failure/model-failure.js";
import { hastenRetries } from "../../support/hasten-retries.js";
import { KEY, MADE_MODELS } from "../../support/made-models.js";
import { user } from "../../support/thread.js";

let host: string;
beforeAll(async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("Expected an address.");
  host = `127.0.0.1:${address.port}`;
  await new Promise((resolve) => server.close(resolve));
});

/** Google's client hides the cause, and writes the address in its own words. */
const GOOGLE = (at: string) => `Error fetching from http://${at}/`;
const ALL_OTHERS = (at: string, path: string) =>
  `ModelError: The model failed: Connection error (http://${at}${path}): connect ECONNREFUSED ${at}`;
const cases = MADE_MODELS.map((made) => ({
  ...made,
  said: made.name.startsWith("google-genai:") ? GOOGLE : ALL_OTHERS,
}));

describe.each(cases)("The model $name", ({ name, key, baseURL, path, said }) => {
  it("names the address that did not respond", async () => {
    hastenRetries();
    const environment = { [key]: KEY, [baseURL]: `http://${host}${path}` };
    const graph = createAgentGraph({
      model: await createModel(name, { environment }),
      maxStreamFallbackAttempts: 0,
    });
    const error = await graph.invoke(user("hello")).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ModelError);
    expect(String(error)).toContain(said(host, path));
  });

  it("shows the address without credentials", async () => {
    const environment = {
      [key]: KEY,
      [baseURL]: `https://someone:secret-word@example.test${path}/?key=secret`,
    };
    expect(addressOf(await createModel(name, { environment }))).toBe(`https://example.test${path}`);
  });
});

describe("No address is named for", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  it.each([
    ["a model at its provider's default address", {}],
    ["a socket", { baseURL: "unix:/run/model.sock" }],
    ["a value that is not an address", { clientConfig: { baseURL: "localhost" } }],
  ])("%s", (_title, model) => {
    const error = toModelError(refused, { model, messages: [] });
    expect(String(error)).toBe("ModelError: The model failed: connect ECONNREFUSED");
  });

  it("a refusal, because the server responded", () => {
    const answered = Object.assign(new Error("429 Slow down", { cause: refused }), { status: 429 });
    const error = toModelError(answered, { model: { baseURL: "http://127.0.0.1:9" }, messages: [] });
    expect(String(error)).not.toContain("127.0.0.1");
  });
});
