import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { createAgentGraph, ModelError } from "../../../src/index.js";
import { addressOf, providerTextOf, toPlainError } from "../../../src/providers/failure/model-failure.js";
import { MADE_MODELS, makeModelAt } from "../../support/clients.js";
import { toModelError } from "../../support/internals.js";
import { listen } from "../../support/listen.js";
import { hastenRetries } from "../../support/test-tools.js";
import { user } from "../../support/thread.js";

const plain = (error: unknown) => toPlainError(error, (text) => text.replaceAll("secret", "…"));

class BadRequestError extends Error {
  readonly status = 400;
  readonly code = "code of secret";
  readonly headers = { authorization: "Bearer secret" };
  readonly request = { key: "secret" };
}

describe("the provider's text is found", () => {
  it.each([
    ["as it is", "Overloaded", "Overloaded"],
    ["after the status", "400 Slow down", "Slow down"],
    ["with its own number at the start", "503 of us are busy", "503 of us are busy"],
    [
      "in the error of a JSON body",
      '400 {"type":"error","error":{"type":"x","message":"Bad order"}}',
      "Bad order",
    ],
    [
      "in the detail of a JSON body",
      'Status 422. Body: {"object":"error","detail":"Bad field"}',
      "Bad field",
    ],
    ["before LangChain's advice", "400 No key\n\nTroubleshooting URL: https://a.b/c/\n", "No key"],
    ["with braces that are not JSON", "Missing {place} in it", "Missing {place} in it"],
    ["in an error without one", "400 status code (no body)", "no reason given"],
    ["over several lines", "one\n  two", "one two"],
  ])("%s", (_title, message, text) => {
    expect(providerTextOf(plain(new BadRequestError(message)))).toBe(text);
  });

  it("with the cause of a lost connection", () => {
    const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
    const error = new Error("Connection error.", { cause: new Error("fetch failed", { cause: refused }) });
    expect(providerTextOf(plain(error))).toBe("Connection error. (ECONNREFUSED)");
  });

  it("and is shortened", () => {
    expect(providerTextOf(plain(new Error("word ".repeat(500)))).length).toBeLessThanOrEqual(501);
  });
});

describe("a plain error", () => {
  it("has the name, codes and stack of the client's error, and nothing else", () => {
    const error = plain(new BadRequestError("It was secret."));
    expect(error).not.toBeInstanceOf(BadRequestError);
    expect({ ...error }).toEqual({ status: 400, code: "code of …" });
    expect(error).toMatchObject({ name: "BadRequestError", message: "It was …." });
    expect(error.stack).toMatch(/^BadRequestError: It was …\.\n {4}at .*model-failure\.test\.ts/);
  });

  it("is made of a value that is not an error, and of a cause that refers to itself", () => {
    expect(plain("secret").message).toBe("…");
    expect(plain(undefined).message).toBe("undefined");
    const round = new Error("round");
    round.cause = round;
    expect(plain(round).cause).toBeInstanceOf(Error);
  });
});

/** Google's client hides the cause, and writes the address in its own words. */
const GOOGLE = (at: string) => `Error fetching from http://${at}/`;
const ALL_OTHERS = (at: string, path: string) =>
  `ModelError: The model failed: Connection error (http://${at}${path}): connect ECONNREFUSED ${at}`;

describe.each(MADE_MODELS)("The error of an unreachable model: $name", (made) => {
  it("names the address", async () => {
    hastenRetries();
    const { url, stop } = await listen(createServer());
    await stop();
    const graph = createAgentGraph({ model: await makeModelAt(made, url), maxStreamFallbackAttempts: 0 });
    const error = await graph.invoke(user("hello")).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ModelError);
    const said = made.name.startsWith("google-genai:") ? GOOGLE : ALL_OTHERS;
    expect(String(error)).toContain(said(new URL(url).host, made.path));
  });

  it("shows no credentials of the address", async () => {
    const model = await makeModelAt(
      { ...made, path: `${made.path}/?key=secret` },
      "https://someone:secret-word@example.test",
    );
    expect(addressOf(model)).toBe(`https://example.test${made.path}`);
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
