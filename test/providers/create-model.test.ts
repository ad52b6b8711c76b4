import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { InvalidModelError } from "../../src/errors.js";
import { createModel } from "../../src/providers/create-model.js";
import { dialectOf, identityOf } from "../../src/providers/dialect-of.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

const KEY = "sk-secret-of-the-test";

interface Row {
  readonly name: string;
  readonly key: string;
  readonly baseURL: string;
  readonly path: string;
  readonly dialect: ProviderName;
}

const ROWS: readonly Row[] = [
  {
    name: "openai:gpt-4o",
    key: "OPENAI_API_KEY",
    baseURL: "OPENAI_BASE_URL",
    path: "/v1",
    dialect: "openai",
  },
  {
    name: "deepseek:deepseek-chat",
    key: "DEEPSEEK_API_KEY",
    baseURL: "DEEPSEEK_BASE_URL",
    path: "/v1",
    dialect: "deepseek",
  },
  {
    name: "tongyi:qwen-max",
    key: "ALIBABA_API_KEY",
    baseURL: "DASHSCOPE_API_URL",
    path: "",
    dialect: "dashscope-native",
  },
  {
    name: "qwen:qwen-max",
    key: "DASHSCOPE_API_KEY",
    baseURL: "DASHSCOPE_BASE_URL",
    path: "/v1",
    dialect: "dashscope",
  },
  {
    name: "anthropic:claude-sonnet-4-5",
    key: "ANTHROPIC_API_KEY",
    baseURL: "ANTHROPIC_BASE_URL",
    path: "",
    dialect: "anthropic",
  },
  {
    name: "google-genai:gemini-2.5-flash",
    key: "GOOGLE_API_KEY",
    baseURL: "GOOGLE_BASE_URL",
    path: "",
    dialect: "gemini",
  },
  {
    name: "mistralai:mistral-large-latest",
    key: "MISTRAL_API_KEY",
    baseURL: "MISTRAL_BASE_URL",
    path: "",
    dialect: "mistral",
  },
];

const echo = tool(({ text }) => text, {
  name: "echo",
  description: "Echoes.",
  schema: z.object({ text: z.string() }),
});

describe.each(ROWS)("the model $name", ({ name, key, baseURL, path, dialect }) => {
  it("is made from its variables and answers, with tools", async () => {
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

  it("refuses a base URL that is none without telling the key", async () => {
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
    ["what is no known client", { invoke: () => new AIMessage("") }, "strict"],
  ] as const)("%s", (_title, model, dialect) => {
    expect(dialectOf(model)).toBe(dialect);
  });

  it("comes with the name of the model", () => {
    expect(identityOf(openAI({}))).toEqual({ dialect: "openai", modelId: "gpt-5" });
  });
});
