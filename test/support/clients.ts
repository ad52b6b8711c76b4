/** The real client of each provider, connected to a server of the tests: made directly, and by name. */

import { ChatAnthropic, type ChatAnthropicInput } from "@langchain/anthropic";
import { ChatAlibabaTongyi } from "@langchain/community/chat_models/alibaba_tongyi";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI, type ChatOpenAIFields } from "@langchain/openai";
import { createModel } from "../../src/index.js";
import { carryHostFields } from "../../src/providers/host-fields/client.js";
import { createDeepSeekModel } from "../../src/providers/makers/deepseek/client.js";
import { rememberDialect } from "../../src/providers/table/dialect-of.js";
import type { ProviderName, StrictProvider } from "./strict-provider/start-strict-provider.js";

const apiKey = "test-key";
const maxRetries = 0;

/** OpenAI's client of a server at this address, to which nothing is added. */
export const openAIAt = (baseURL: string, fields: ChatOpenAIFields = {}) =>
  new ChatOpenAI({ model: "gpt-5", apiKey, maxRetries, configuration: { baseURL }, ...fields });

/** The same for its Responses API, with a server that has OpenAI's own rules. */
export const responsesAt = (baseURL: string, fields: ChatOpenAIFields = {}) =>
  rememberDialect(openAIAt(baseURL, { useResponsesApi: true, ...fields }), "openai-responses");

export const anthropicAt = (anthropicApiUrl: string, fields: ChatAnthropicInput = {}) =>
  new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxRetries, anthropicApiUrl, ...fields });

export const geminiAt = (baseUrl: string, key = apiKey) =>
  new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey: key, maxRetries, baseUrl });

export const tongyiAt = (apiUrl: string, key = apiKey) =>
  new ChatAlibabaTongyi({ model: "qwen-max", alibabaApiKey: key, maxRetries, apiUrl });

type Client = (url: string, apiKey: string) => BaseChatModel | Promise<BaseChatModel>;

const CLIENTS: Readonly<Record<ProviderName, Client>> = {
  openai: (url, apiKey) => openAIAt(`${url}/v1`, { apiKey }),
  "openai-responses": (url, apiKey) => responsesAt(`${url}/v1`, { apiKey }),
  dashscope: (url, apiKey) => openAIAt(`${url}/v1`, { apiKey, model: "qwen-max" }),
  "dashscope-native": tongyiAt,
  deepseek: async (url, apiKey) =>
    carryHostFields(
      await createDeepSeekModel({ model: "deepseek-chat", apiKey, baseURL: `${url}/v1`, maxRetries }),
      { dialect: "deepseek", modelId: "deepseek-chat" },
    ),
  anthropic: (url, apiKey) => anthropicAt(url, { apiKey }),
  gemini: geminiAt,
  mistral: (url, apiKey) =>
    new ChatMistralAI({ model: "mistral-large-latest", apiKey, maxRetries, serverURL: url }),
};

export const PROVIDERS = Object.keys(CLIENTS) as ProviderName[];

export const clientAt = (provider: ProviderName, url: string, key = apiKey) => CLIENTS[provider](url, key);

export async function clientOf(provider: ProviderName, strict: StrictProvider): Promise<BaseChatModel> {
  return clientAt(provider, strict.url(provider));
}

export const KEY = "sk-secret-of-the-test";

export const MADE_MODELS = (
  [
    ["openai:gpt-4o", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "openai"],
    ["deepseek:deepseek-chat", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "/v1", "deepseek"],
    ["tongyi:qwen-max", "ALIBABA_API_KEY", "DASHSCOPE_API_URL", "", "dashscope-native"],
    ["qwen:qwen-max", "DASHSCOPE_API_KEY", "DASHSCOPE_BASE_URL", "/v1", "dashscope"],
    ["anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "anthropic"],
    ["google:gemini-2.5-flash", "GOOGLE_API_KEY", "GOOGLE_BASE_URL", "", "gemini"],
    ["google-genai:gemini-2.5-flash", "GOOGLE_API_KEY", "GOOGLE_BASE_URL", "", "gemini"],
    ["mistralai:mistral-large-latest", "MISTRAL_API_KEY", "MISTRAL_BASE_URL", "", "mistral"],
  ] as const
).map(([name, key, baseURL, path, dialect]) => ({ name, key, baseURL, path, dialect }));

export type MadeModel = Omit<(typeof MADE_MODELS)[number], "path"> & { readonly path: string };

/** @param at The address of the provider. */
export function makeModelAt({ name, key, baseURL, path }: MadeModel, at: string, apiKey = KEY) {
  return createModel(name, { environment: { [key]: apiKey, [baseURL]: `${at}${path}` } });
}

export const makeModel = (made: MadeModel, strict: StrictProvider) =>
  makeModelAt(made, strict.url(made.dialect));
