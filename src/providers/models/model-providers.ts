/** How the models of each provider are made. Provider packages are optional peers, loaded when a model is made. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { DialectName } from "../dialects/dialects.js";
import { createDeepSeekModel } from "./clients/deepseek-model.js";
import { createMistralModel } from "./clients/mistral-model.js";
import { createTongyiModel } from "./clients/tongyi-model.js";
import { importOptional } from "./import-optional.js";
import type { ModelFields } from "./model-fields.js";

export interface ModelProvider {
  /** The command that installs the client. Undefined for a built-in client. */
  readonly install: string | undefined;
  /**
   * Variables that may hold the key, the usual one first. Empty if no key is needed, or if the client finds its own.
   */
  readonly keys: readonly string[];
  /** The variable that replaces the provider's own address. */
  readonly baseURL: string | undefined;
  /** The dialect of the model. Undefined to derive it from the client and the host. */
  readonly dialect: DialectName | undefined;
  /** Contract: makes a model, or rejects with the error of the provider's package. */
  readonly create: (fields: ModelFields) => Promise<BaseChatModel>;
}

const DASHSCOPE_COMPATIBLE = "https://dashscope.aliyuncs.com/compatible-mode/v1";

export const MODEL_PROVIDERS: Readonly<Record<string, ModelProvider>> = {
  offline: {
    install: undefined,
    keys: [],
    baseURL: undefined,
    dialect: undefined,
    create: async () => {
      // Most users of the library never use the offline model.
      const { OfflineChatModel } = await import("../../offline/offline-chat-model.js");
      return new OfflineChatModel();
    },
  },
  /** OpenAI, and every endpoint with its protocol. */
  openai: {
    install: "npm install @langchain/openai",
    keys: ["OPENAI_API_KEY"],
    baseURL: "OPENAI_BASE_URL",
    dialect: undefined,
    create: createOpenAIModel,
  },
  deepseek: {
    install: "npm install @langchain/deepseek",
    keys: ["DEEPSEEK_API_KEY"],
    baseURL: "DEEPSEEK_BASE_URL",
    dialect: "deepseek",
    create: createDeepSeekModel,
  },
  /** Qwen over DashScope's native protocol. */
  tongyi: {
    // The peers of this package contradict each other, so npm refuses it without the setting. With only
    // `--legacy-peer-deps`, npm would refuse every later install.
    install: "npm config set legacy-peer-deps=true --location=project && npm install @langchain/community",
    keys: ["ALIBABA_API_KEY", "DASHSCOPE_API_KEY"],
    baseURL: "DASHSCOPE_API_URL",
    dialect: "dashscope-native",
    create: createTongyiModel,
  },
  /** Qwen over DashScope's OpenAI-compatible endpoint. */
  qwen: {
    install: "npm install @langchain/openai",
    keys: ["DASHSCOPE_API_KEY", "ALIBABA_API_KEY"],
    baseURL: "DASHSCOPE_BASE_URL",
    dialect: "dashscope",
    create: (fields) => createOpenAIModel({ ...fields, baseURL: fields.baseURL ?? DASHSCOPE_COMPATIBLE }),
  },
  anthropic: byLangChain("anthropic", {
    package: "@langchain/anthropic",
    keys: ["ANTHROPIC_API_KEY"],
    baseURL: "ANTHROPIC_BASE_URL",
    baseURLField: "anthropicApiUrl",
    dialect: "anthropic",
  }),
  google: byLangChain("google", {
    package: "@langchain/google",
    keys: ["GOOGLE_API_KEY"],
    baseURL: "GOOGLE_BASE_URL",
    baseURLField: "endpoint",
    dialect: "gemini",
  }),
  "google-genai": byLangChain("google-genai", {
    package: "@langchain/google-genai",
    keys: ["GOOGLE_API_KEY"],
    baseURL: "GOOGLE_BASE_URL",
    baseURLField: "baseUrl",
    dialect: "gemini",
  }),
  mistralai: {
    install: "npm install @langchain/mistralai",
    keys: ["MISTRAL_API_KEY"],
    baseURL: "MISTRAL_BASE_URL",
    dialect: "mistral",
    create: createMistralModel,
  },
  groq: byLangChain("groq", {
    package: "@langchain/groq",
    keys: ["GROQ_API_KEY"],
    dialect: "openai-compatible",
  }),
  xai: byLangChain("xai", {
    package: "@langchain/xai",
    keys: ["XAI_API_KEY"],
    dialect: "openai-compatible",
  }),
  // These clients find their credentials and hosts themselves.
  ollama: byLangChain("ollama", { package: "@langchain/ollama" }),
  bedrock: byLangChain("bedrock", { package: "@langchain/aws" }),
  "google-vertexai": byLangChain("google-vertexai", {
    package: "@langchain/google-vertexai",
    dialect: "gemini",
  }),
};

async function createOpenAIModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatOpenAI } = await importOptional<typeof import("@langchain/openai")>("@langchain/openai");
  return new ChatOpenAI({ ...fields, ...(baseURL !== undefined && { configuration: { baseURL } }) });
}

interface LangChainProvider {
  readonly package: string;
  readonly keys?: readonly string[];
  readonly baseURL?: string;
  /** The name of the base URL in the fields of the provider's class. */
  readonly baseURLField?: string;
  readonly dialect?: DialectName;
}

/** A provider that LangChain's own `initChatModel` knows. */
function byLangChain(name: string, provider: LangChainProvider): ModelProvider {
  const { keys = [], baseURL: variable, baseURLField, dialect } = provider;
  return {
    install: `npm install langchain ${provider.package}`,
    keys,
    baseURL: variable,
    dialect: dialect ?? "strict",
    create: async ({ model, apiKey, baseURL, ...retries }) => {
      const { initChatModel } = await importOptional<typeof import("langchain/chat_models/universal")>(
        "langchain/chat_models/universal",
      );
      return initChatModel(model, {
        ...retries,
        modelProvider: name,
        ...(apiKey !== "" && { apiKey }),
        ...(baseURL !== undefined && baseURLField !== undefined && { [baseURLField]: baseURL }),
      });
    },
  };
}
