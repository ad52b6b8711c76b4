import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { createRedact } from "../../src/providers/redact.js";

describe("a text is redacted of", () => {
  it.each([
    ["OpenAI's keys", "provided: sk-proj-abc_DEF-0123456789.", "provided: [redacted]."],
    ["keys that are masked already", "provided: sk-abcd****************wxyz.", "provided: [redacted]."],
    ["Groq's", "Invalid gsk_abcdefgh0123", "Invalid [redacted]"],
    ["xAI's", "Invalid xai-abcdefgh0123", "Invalid [redacted]"],
    ["Google's", "key AIzaSyA-abcdefgh_0123 not valid", "key [redacted] not valid"],
    [
      "tokens of headers",
      'authorization: "Bearer abc.def~ghi-0123456789"',
      'authorization: "Bearer [redacted]"',
    ],
    ["keys of an address", "GET /v1?key=abc123&alt=sse", "GET /v1?key=[redacted]&alt=sse"],
    ["passwords of an address", "https://me:secret@proxy/v1", "https://[redacted]@proxy/v1"],
  ])("%s", (_title, text, redacted) => {
    expect(createRedact({})(text)).toBe(redacted);
  });

  it.each([
    ["a key", { apiKey: "my own key" }],
    ["a header of its client", { configuration: { defaultHeaders: { "x-api-key": "my own key" } } }],
    ["a header as `Headers`", { headers: new Headers({ authorization: "Bearer my own key" }) }],
    ["a service account", { authOptions: { credentials: { private_key: "my own key" } } }],
  ])("what the model keeps as %s", (_title, fields) => {
    expect(createRedact(fields)("It was my own key.")).toBe("It was [redacted].");
  });

  it("the key of a real client, and of a longer one before a shorter one that begins it", () => {
    const model = new ChatOpenAI({ apiKey: "my own key", configuration: { apiKey: "my own key two" } });
    expect(createRedact(model)("my own key two, my own key")).toBe("[redacted], [redacted]");
  });

  it("nothing else", () => {
    const text = "The model sk was asked at https://host:8080/v1?alt=sse with Basic authentication: x.";
    expect(createRedact({ apiKey: "x", model: "asked at", maxTokens: 3 })(text)).toBe(text);
  });

  it("holds for a model that contains itself", () => {
    const model = { apiKey: "my own key", self: {} };
    model.self = model;
    expect(createRedact(model)("my own key")).toBe("[redacted]");
  });
});
