/** The real client of each provider, connected to the strict provider. */

import { ChatAnthropic } from "@langchain/anthropic";
import { ChatAlibabaTongyi } from "@langchain/community/chat_models/alibaba_tongyi";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import { createDeepSeekModel } from "../../src/providers/deepseek/client.js";
import type { ProviderName, StrictProvider } from "../support/strict-provider/start-strict-provider.js";

type Client = (url: string) => BaseChatModel | Promise<BaseChatModel>;

const apiKey = "test-key";
const maxRetries = 0;

const openAI = (url: string, model: string, useResponsesApi = false): BaseChatModel =>
  new ChatOpenAI({
    model,
    apiKey,
    maxRetries,
    useResponsesApi,
    configuration: { baseURL: `${url}/v1` },
  });

const CLIENTS: Readonly<Record<ProviderName, Client>> = {
  openai: (url) => openAI(url, "gpt-5"),
  "openai-responses": (url) => openAI(url, "gpt-5", true),
  dashscope: (url) => openAI(url, "qwen-max"),
  "dashscope-native": (url) =>
    new ChatAlibabaTongyi({ model: "qwen-max", alibabaApiKey: apiKey, maxRetries, apiUrl: url }),
  deepseek: (url) =>
    createDeepSeekModel({ model: "deepseek-chat", apiKey, baseURL: `${url}/v1`, maxRetries }),
  anthropic: (url) =>
    new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxRetries, anthropicApiUrl: url }),
  gemini: (url) =>
    new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey, maxRetries, baseUrl: url }),
  mistral: (url) => new ChatMistralAI({ model: "mistral-large-latest", apiKey, maxRetries, serverURL: url }),
};

export const PROVIDERS = Object.keys(CLIENTS) as ProviderName[];

export async function clientOf(provider: ProviderName, strict: StrictProvider): Promise<BaseChatModel> {
  return CLIENTS[provider](strict.url(provider));
}
