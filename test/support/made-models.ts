/** Models that can be made by name, with the variables of their key and of the address of their strict provider. */

import { createModel } from "../../src/providers/models/create-model.js";
import type { StrictProvider } from "./strict-provider/start-strict-provider.js";

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
