/** A missing key is reported when the graph is built, if the graph's caller cannot supply it. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { cachedCreateModel, createAgentGraph, createModel, InvalidModelError } from "../../../src/index.js";

beforeEach(() => {
  for (const name of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const NEEDS_KEY =
  "The model `openai:gpt-5` needs a key: set `OPENAI_API_KEY` in the environment. It also needs its package: npm install @langchain/openai";

describe("A graph is not built without the key of", () => {
  it.each([
    ["its model", { model: "openai:gpt-5" }],
    ["its summary model", { model: "offline:", summaryModel: "openai:gpt-5" }],
    ["its model that is shared", { model: "openai:gpt-5", createModel: cachedCreateModel() }],
    ["its model that our function makes", { model: "openai:gpt-5", createModel }],
  ])("%s", (_title, options) => {
    expect(() => createAgentGraph(options)).toThrow(InvalidModelError);
    expect(() => createAgentGraph(options)).toThrow(NEEDS_KEY);
  });
});

describe("A graph is built", () => {
  const own = (name: string) => createModel(name, { environment: { OPENAI_API_KEY: "sk-own" } });

  it.each([
    [
      "with a function of the caller's own, which may have the key",
      { model: "openai:gpt-5", createModel: own },
    ],
    ["with such a function that is shared", { model: "openai:gpt-5", createModel: cachedCreateModel(own) }],
    ["if only a run may choose the model", { model: "offline:", models: ["openai:gpt-5"] }],
    [
      "if the client finds its credentials",
      { model: "bedrock:nova", models: ["ollama:llama", "google-vertexai:gemini"] },
    ],
  ])("%s", (_title, options) => {
    createAgentGraph(options);
  });

  it("with the key", () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-of-the-test");
    createAgentGraph({ model: "openai:gpt-5" });
  });
});
