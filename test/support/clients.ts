/** The real client of each provider, connected to a server of the tests. */

import { ChatAnthropic, type ChatAnthropicInput } from "@langchain/anthropic";
import { ChatAlibabaTongyi } from "@langchain/community/chat_models/alibaba_tongyi";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI, type ChatOpenAIFields } from "@langchain/openai";
import { createDeepSeekModel } from "../../src/providers/deepseek/client.js";
import type { ProviderName, StrictProvider } from "./strict-provider/start-strict-provider.js";

const apiKey = "test-key";
const maxRetries = 0;

/** OpenAI's client of a server at this address, to which nothing is added. */
export const openAIAt = (baseURL: string, fields: ChatOpenAIFields = {}) =>
  new ChatOpenAI({ model: "gpt-5", apiKey, maxRetries, configuration: { baseURL }, ...fields });

export const anthropicAt = (anthropicApiUrl: string, fields: ChatAnthropicInput = {}) =>
  new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxRetries, anthropicApiUrl, ...fields });

export const geminiAt = (baseUrl: string, key = apiKey) =>
  new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey: key, maxRetries, baseUrl });

export const tongyiAt = (apiUrl: string, key = apiKey) =>
  new ChatAlibabaTongyi({ model: "qwen-max", alibabaApiKey: key, maxRetries, apiUrl });

type Client = (url: string, apiKey: string) => BaseChatModel | Promise<BaseChatModel>;

const CLIENTS: Readonly<Record<ProviderName, Client>> = {
  openai: (url, apiKey) => openAIAt(`${url}/v1`, { apiKey }),
  "openai-responses": (url, apiKey) => openAIAt(`${url}/v1`, { apiKey, useResponsesApi: true }),
  dashscope: (url, apiKey) => openAIAt(`${url}/v1`, { apiKey, model: "qwen-max" }),
  "dashscope-native": tongyiAt,
  deepseek: (url, apiKey) =>
    createDeepSeekModel({ model: "deepseek-chat", apiKey, baseURL: `${url}/v1`, maxRetries }),
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
