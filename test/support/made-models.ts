/**
 * Models that can be made by name in tests, with the variables of their key and of the address of their strict
 * provider.
 */

import { createModel } from "../../src/providers/models/create-model.js";
import type { ProviderName, StrictProvider } from "./strict-provider/start-strict-provider.js";

export const KEY = "sk-secret-of-the-test";

export interface MadeModel {
  readonly name: string;
  readonly key: string;
  readonly baseURL: string;
  readonly path: string;
  readonly dialect: ProviderName;
}

export const MADE_MODELS: readonly MadeModel[] = [
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
    name: "google:gemini-2.5-flash",
    key: "GOOGLE_API_KEY",
    baseURL: "GOOGLE_BASE_URL",
    path: "",
    dialect: "gemini",
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

export function makeModel({ name, key, baseURL, path, dialect }: MadeModel, strict: StrictProvider) {
  return createModel(name, { environment: { [key]: KEY, [baseURL]: `${strict.url(dialect)}${path}` } });
}
