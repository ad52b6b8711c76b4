import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { createRedact } from "../../support/internals.js";

describe("a text is redacted of", () => {
  it.each([
    ["OpenAI's keys", "provided: sk-proj-abc_DEF-0123456789.", "provided: [redacted]."],
    ["keys that are already masked", "provided: sk-abcd****************wxyz.", "provided: [redacted]."],
    ["Groq's", "Invalid gsk_abcdefgh0123", "Invalid [redacted]"],
    ["xAI's", "Invalid xai-abcdefgh0123", "Invalid [redacted]"],
    ["Google's", "key AIzaSyA-abcdefgh_0123 not valid", "key [redacted] not valid"],
    [
      "tokens in headers",
      'authorization: "Bearer abc.def~ghi-0123456789"',
      'authorization: "Bearer [redacted]"',
    ],
    ["tokens after blanks", "Basic \n 0123456789abcdef= Bearer x", "Basic \n [redacted] Bearer x"],
    ["keys in a URL", "GET /v1?key=abc123&alt=sse", "GET /v1?key=[redacted]&alt=sse"],
    ["signatures in a URL", "GET /v1?sig=abc123&alt=sse", "GET /v1?sig=[redacted]&alt=sse"],
    ["passwords in a URL", "https://me:secret@proxy/v1", "https://[redacted]@proxy/v1"],
  ])("%s", (_title, text, redacted) => {
    expect(createRedact({})(text)).toBe(redacted);
  });

  it.each([
    ["a key", { apiKey: "my own key" }],
    ["a header of its client", { configuration: { defaultHeaders: { "x-api-key": "my own key" } } }],
    ["a header as `Headers`", { headers: new Headers({ authorization: "Bearer my own key" }) }],
    ["a header of any name", { configuration: { defaultHeaders: { "X-Custom": "my own key" } } }],
    ["a header in a list of pairs", { clientOptions: { defaultHeaders: [["X-Custom", ["my own key"]]] } }],
    ["a header of a proxy, without its scheme", { proxy: { "x-proxy-auth": "Basic my own key" } }],
    ["a cookie", { defaultHeaders: { Cookie: "theme=dark; sid=my own key" } }],
    ["a session", { session: "my own key" }],
    ["a signature of its queries", { configuration: { defaultQuery: { sig: "my own key" } } }],
    ["a service account", { authOptions: { credentials: { private_key: "my own key" } } }],
  ])("a secret that the model keeps as %s", (_title, fields) => {
    expect(createRedact(fields)("It was my own key.")).toBe("It was [redacted].");
  });

  it("the key of a real client, and a long key before a short key that it begins with", () => {
    const model = new ChatOpenAI({ apiKey: "my own key", configuration: { apiKey: "my own key two" } });
    expect(createRedact(model)("my own key two, my own key")).toBe("[redacted], [redacted]");
  });

  it("a signature, as a URL encodes it", () => {
    const redact = createRedact({ configuration: { defaultQuery: { sv: "a b/c+d" } } });
    expect(redact("GET /v1?sv=a+b%2Fc%2Bd or a%20b%2Fc%2Bd or a b/c+d")).toBe(
      "GET /v1?sv=[redacted] or [redacted] or [redacted]",
    );
  });

  it("a key that a URL cannot hold", () => {
    expect(createRedact({ apiKey: "my own \uD800key" })("my own \uD800key")).toBe("[redacted]");
  });

  it.each(["apiKey", "openAIApiKey", "alibabaApiKey", "mistral_api_key", "x-api-key"])(
    "a short `%s`, where it is a whole word",
    (name) => {
      const redact = createRedact({ [name]: "$art" });
      expect(redact("No party was started by $art, '$art' or x$art.")).toBe(
        "No party was started by [redacted], '[redacted]' or x$art.",
      );
    },
  );

  it("no harmless header and no harmless parameter", () => {
    const text = "application/json and curl/8 were refused in 2024-10-21: true.";
    const defaultHeaders = {
      "Content-Type": "application/json",
      "user-agent": "curl/8",
      "x-verbose": "true",
    };
    const defaultQuery = { "api-version": "2024-10-21" };
    expect(createRedact({ configuration: { defaultHeaders, defaultQuery } })(text)).toBe(text);
  });

  it("no ordinary words that look similar, and no short values", () => {
    const text = "The author Jane Roe of design Aubergine had the session x.";
    const model = { author: "Jane Roe", design: "Aubergine", session: "x" };
    expect(createRedact(model)(text)).toBe(text);
  });

  it("nothing else", () => {
    const text = "The model sk was asked at https://host:8080/v1?alt=sse with Basic authentication: x.";
    expect(createRedact({ apiKey: "x", model: "asked at", maxTokens: 3 })(text)).toBe(text);
  });

  it("works for a model that contains itself", () => {
    const model = { apiKey: "my own key", self: {} };
    model.self = model;
    expect(createRedact(model)("my own key")).toBe("[redacted]");
  });
});
