import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { InvalidModelError } from "../../../src/errors.js";
import { dialectOf, identityOf } from "../../../src/providers/dialects/dialect-of.js";
import { createModel } from "../../../src/providers/models/create-model.js";
import { KEY, MADE_MODELS } from "../../support/made-models.js";
import {
  ANSWER,
  type StrictProvider,
  startStrictProvider,
} from "../../support/strict-provider/start-strict-provider.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

const echo = tool(({ text }) => text, {
  name: "echo",
  description: "Echoes.",
  schema: z.object({ text: z.string() }),
});

describe.each(MADE_MODELS)("the model $name", ({ name, key, baseURL, path, dialect }) => {
  it("is made from its environment variables, and responds with tools", async () => {
    const environment = { [key]: KEY, [baseURL]: `${strict.url(dialect)}${path}` };
    const model = await createModel(name, { environment });
    const withTools = model.bindTools?.([echo]);
    let text = "";
    for await (const chunk of (await withTools?.stream([new HumanMessage("hello")])) ?? [])
      text += chunk.text;
    expect(text).toBe(ANSWER);
    expect(JSON.stringify(strict.lastRequest())).toContain('"echo"');
  });

  it("has its provider's dialect", async () => {
    const model = await createModel(name, { environment: { [key]: KEY } });
    expect(dialectOf(model)).toBe(dialect);
  });

  it("names the variable of a missing key", async () => {
    const error = await createModel(name, { environment: {} }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidModelError);
    expect(String(error)).toContain(key);
  });

  it("refuses an invalid base URL without telling the key", async () => {
    const environment = { [key]: KEY, [baseURL]: "not a url" };
    const error = await createModel(name, { environment }).catch((reason: unknown) => reason);
    expect(String(error)).toContain(baseURL);
    expect(String(error)).not.toContain(KEY);
  });
});

it("A missing package is named with the command that installs it.", async () => {
  const error = await createModel("groq:llama", { environment: { GROQ_API_KEY: KEY } }).catch(
    (reason: unknown) => reason,
  );
  expect(String(error)).toContain("npm install langchain @langchain/groq");
  expect(String(error)).not.toContain(KEY);
});

describe("the dialect of a model", () => {
  const openAI = (fields: object) => new ChatOpenAI({ model: "gpt-5", apiKey: KEY, ...fields });
  it.each([
    ["OpenAI's chat", openAI({}), "openai"],
    ["OpenAI's Responses", openAI({ useResponsesApi: true }), "openai-responses"],
    [
      "Qwen by its host",
      openAI({ configuration: { baseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1" } }),
      "dashscope",
    ],
    ["an unknown host", openAI({ configuration: { baseURL: "http://localhost:8000/v1" } }), "strict"],
    ["a model with bound options", openAI({}).bindTools([echo]), "openai"],
    ["an unknown client", { invoke: () => new AIMessage("") }, "strict"],
  ] as const)("%s", (_title, model, dialect) => {
    expect(dialectOf(model)).toBe(dialect);
  });

  it("comes with the name of the model", () => {
    expect(identityOf(openAI({}))).toEqual({ dialect: "openai", modelId: "gpt-5" });
  });
});
