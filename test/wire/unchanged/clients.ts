/** The clients of LangChain.js, each connected to the recorder under the address of its real host. */

import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { ChatCerebras } from "@langchain/cerebras";
import { ChatCohere } from "@langchain/cohere";
import { ChatAlibabaTongyi } from "@langchain/community/chat_models/alibaba_tongyi";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatGroq } from "@langchain/groq";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOllama } from "@langchain/ollama";
import { AzureChatOpenAI, ChatOpenAI, type ChatOpenAIFields } from "@langchain/openai";
import { ChatOpenRouter } from "@langchain/openrouter";
import { ChatXAI } from "@langchain/xai";
import { checkAnthropic } from "../../support/strict-provider/check-anthropic.js";
import {
  checkDashScope,
  checkDashScopeNative,
  checkGroq,
  checkOpenAI,
} from "../../support/strict-provider/check-chat.js";
import { checkGemini } from "../../support/strict-provider/check-gemini.js";
import { checkMistral } from "../../support/strict-provider/check-mistral.js";
import { checkResponses } from "../../support/strict-provider/check-responses.js";
import type { RequestCheck } from "../../support/strict-provider/refusal.js";
import {
  checkBedrock,
  checkDeepSeekText,
  checkGlm,
  checkKimi,
  checkMiniMax,
  checkNewerClaude,
  checkXAI,
} from "./check-hosts.js";
import type { Recorder } from "./start-recorder.js";

/** What the histories of a client are made of. */
export interface Maker {
  /** `response_metadata.model_provider` as the client writes it. Undefined: it writes none. */
  readonly provider?: string;
  readonly model: string;
  /** The ids of calls, in the form of this provider. */
  readonly callId: (place: number) => string;
  /** The block of a call in the content, if the client stores one there and sends it. */
  readonly callBlock?: (call: {
    readonly id: string;
    readonly name: string;
    readonly args: object;
  }) => object;
}

export type Family =
  | "chat"
  | "responses"
  | "anthropic"
  | "google"
  | "google-genai"
  | "bedrock"
  | "ollama"
  | "mistral"
  | "other";

export interface Client extends Maker {
  readonly name: string;
  /** Which histories with a maker's own fields it has. */
  readonly family: Family;
  readonly create: (recorder: Recorder) => BaseChatModel;
  /** The rules of its provider. A history that they refuse when the client sends it alone is not a sound one. */
  readonly check?: RequestCheck;
}

const apiKey = "test-key";
const maxRetries = 0;

const callId = (place: number) => `call_${place}aBcDeFgHiJkLmNoPqRsTuV`;
const mistralId = (place: number) => `D681Pe${String(place).padStart(3, "0")}`;

/** `ChatOpenAI` at a host of its own. */
function atHost(
  name: string,
  baseURL: string,
  model: string,
  more: Partial<Client> & { readonly fields?: ChatOpenAIFields } = {},
): Client {
  const { fields = {}, ...client } = more;
  return {
    name,
    family: "chat",
    provider: "openai",
    model,
    callId,
    create: ({ fetch }) =>
      new ChatOpenAI({ model, apiKey, maxRetries, ...fields, configuration: { baseURL, fetch } }),
    ...client,
  };
}

function claude(model: string, check: RequestCheck): Client {
  return {
    name: "ChatAnthropic",
    family: "anthropic",
    provider: "anthropic",
    model,
    callId: (place) => `toolu_0${place}A09q90qw90lq917835lq9`,
    callBlock: ({ id, name, args }) => ({ type: "tool_use", id, name, input: args }),
    check,
    create: ({ fetch }) => new ChatAnthropic({ model, apiKey, maxRetries, clientOptions: { fetch } }),
  };
}

const gemini: Pick<Client, "model" | "callId" | "check"> = {
  model: "gemini-2.5-flash",
  callId: (place) => `8f1c${place}a70-5b7e-4c0e-9d5e-2f4b6a1c3d5e`,
  check: checkGemini,
};

/** `ChatGoogle` sends the calls of the content, and no others. */
const googleCall: Pick<Client, "callBlock"> = {
  callBlock: ({ id, name, args }) => ({ type: "functionCall", functionCall: { id, name, args } }),
};

export const CLIENTS: readonly Client[] = [
  {
    ...atHost("ChatOpenAI", "", "gpt-5", { check: checkOpenAI }),
    create: ({ fetch }) => new ChatOpenAI({ model: "gpt-5", apiKey, maxRetries, configuration: { fetch } }),
  },
  {
    ...atHost("ChatOpenAI (Responses)", "", "gpt-5", { family: "responses", check: checkResponses }),
    create: ({ fetch }) =>
      new ChatOpenAI({
        model: "gpt-5",
        apiKey,
        maxRetries,
        useResponsesApi: true,
        configuration: { fetch },
      }),
  },
  {
    ...atHost("AzureChatOpenAI", "", "gpt-4o", { check: checkOpenAI }),
    create: ({ fetch }) =>
      new AzureChatOpenAI({
        model: "gpt-4o",
        azureOpenAIApiKey: apiKey,
        azureOpenAIApiInstanceName: "house",
        azureOpenAIApiDeploymentName: "gpt-4o",
        azureOpenAIApiVersion: "2025-04-01-preview",
        maxRetries,
        configuration: { fetch },
      }),
  },
  claude("claude-sonnet-4-5", checkAnthropic),
  {
    name: "ChatGoogle",
    family: "google",
    provider: "google",
    ...gemini,
    ...googleCall,
    create: ({ url }) => new ChatGoogle({ model: gemini.model, apiKey, maxRetries, endpoint: url }),
  },
  {
    name: "ChatGoogle (Vertex AI)",
    family: "google",
    provider: "google",
    ...gemini,
    ...googleCall,
    create: ({ url }) =>
      new ChatGoogle({ model: gemini.model, apiKey, maxRetries, platformType: "gcp", endpoint: url }),
  },
  {
    name: "ChatGoogleGenerativeAI",
    family: "google-genai",
    provider: "google-genai",
    ...gemini,
    create: ({ url }) =>
      new ChatGoogleGenerativeAI({ model: gemini.model, apiKey, maxRetries, baseUrl: url }),
  },
  {
    name: "ChatMistralAI",
    family: "mistral",
    model: "mistral-large-latest",
    callId: mistralId,
    check: checkMistral,
    create: ({ url }) =>
      new ChatMistralAI({ model: "mistral-large-latest", apiKey, maxRetries, serverURL: url }),
  },
  {
    ...atHost("ChatDeepSeek", "", "deepseek-chat", { provider: "deepseek", check: checkDeepSeekText }),
    create: ({ fetch }) =>
      new ChatDeepSeek({ model: "deepseek-chat", apiKey, maxRetries, configuration: { fetch } }),
  },
  {
    ...atHost("ChatXAI", "", "grok-4", { provider: "xai", check: checkXAI }),
    create: () => new ChatXAI({ model: "grok-4", apiKey, maxRetries }),
  },
  {
    ...atHost("ChatGroq", "", "openai/gpt-oss-120b", { provider: "groq", check: checkGroq }),
    create: ({ fetch }) => new ChatGroq({ model: "openai/gpt-oss-120b", apiKey, maxRetries, fetch }),
  },
  {
    ...atHost("ChatCerebras", "", "gpt-oss-120b", {}),
    create: ({ fetch }) => new ChatCerebras({ model: "gpt-oss-120b", apiKey, maxRetries, fetch }),
  },
  {
    name: "ChatOllama",
    family: "ollama",
    provider: "ollama",
    model: "qwen3",
    callId: (place) => `3b1c${place}a70-5b7e-4c0e-9d5e-2f4b6a1c3d5e`,
    create: ({ fetch }) => new ChatOllama({ model: "qwen3", maxRetries, fetch }),
  },
  {
    name: "ChatBedrockConverse",
    family: "bedrock",
    provider: "bedrock-converse",
    model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    callId: (place) => `tooluse_${place}kZJMlvQmRJ6eAyJE5GIl7Q`,
    check: checkBedrock,
    create: ({ url, fetch }) => {
      // The client warns of versions of Node.js that it will leave one day.
      process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
      return new ChatBedrockConverse({
        model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        region: "us-east-1",
        credentials: { accessKeyId: "x", secretAccessKey: "x" },
        maxRetries,
        // By default the client speaks HTTP/2.
        clientOptions: { maxAttempts: 1, requestHandler: requestHandler(url, fetch) },
      });
    },
  },
  {
    name: "ChatCohere",
    family: "other",
    model: "command-a-03-2025",
    callId: (place) => `look_${place}x1y2z3`,
    create: () => new ChatCohere({ model: "command-a-03-2025", apiKey, maxRetries }),
  },
  {
    ...atHost("ChatOpenRouter", "", "moonshotai/kimi-k2.5", { provider: "openrouter" }),
    create: () => new ChatOpenRouter({ model: "moonshotai/kimi-k2.5", apiKey, maxRetries }),
  },
  {
    name: "ChatAlibabaTongyi",
    family: "other",
    model: "qwen-max",
    callId,
    check: checkDashScopeNative,
    create: () => new ChatAlibabaTongyi({ model: "qwen-max", alibabaApiKey: apiKey, maxRetries }),
  },
  atHost("ChatOpenAI at Qwen's host", "https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3-max", {
    check: checkDashScope,
  }),
  atHost("ChatOpenAI at Kimi's host", "https://api.moonshot.cn/v1", "kimi-k2.5", {
    callId: (place) => `look:${place}`,
    check: checkKimi,
  }),
  atHost("ChatOpenAI at GLM's host", "https://open.bigmodel.cn/api/paas/v4", "glm-4.6", { check: checkGlm }),
  atHost("ChatOpenAI at MiniMax's host", "https://api.minimax.io/v1", "MiniMax-M2", {
    callId: (place) => `call_function_${place}x1y2z3_1`,
    check: checkMiniMax,
  }),
  atHost("ChatOpenAI at DeepSeek's host", "https://api.deepseek.com/v1", "deepseek-chat", {
    check: checkDeepSeekText,
  }),
  atHost("ChatOpenAI at OpenRouter", "https://openrouter.ai/api/v1", "moonshotai/kimi-k2.5"),
  atHost("ChatOpenAI at OpenRouter (Claude)", "https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5"),
  atHost("ChatOpenAI at vLLM", "http://gpu-7.internal:8000/v1", "Qwen/Qwen3-32B", {
    callId: (place) => `chatcmpl-tool-${place}0f2a4c6e8b0d4f2a8c6e4b2d0f1a3c5e`,
  }),
  atHost(
    "ChatOpenAI at Gemini's host",
    "https://generativelanguage.googleapis.com/v1beta/openai/",
    "gemini-3-pro-preview",
    { callId: (place) => `function-call-1234567890${place}` },
  ),
];

/** Clients that differ from others only in blocks that they take. */
export const NEWER_CLIENTS: readonly Client[] = [
  atHost("ChatOpenAI at Mistral's host", "https://api.mistral.ai/v1", "mistral-large-latest", {
    callId: mistralId,
    check: checkMistral,
  }),
  { ...claude("claude-opus-4-8", checkNewerClaude), name: "ChatAnthropic (Claude Opus 4.8)" },
];

/** What the AWS client asks of its HTTP handler. */
export function requestHandler(url: string, send: typeof fetch) {
  return {
    metadata: { handlerProtocol: "http/1.1" },
    handle: async ({ path, body }: { readonly path: string; readonly body: string }) => {
      const response = await send(`${url}${path}`, { method: "POST", body });
      return {
        response: {
          statusCode: response.status,
          headers: Object.fromEntries(response.headers),
          body: response.body,
        },
      };
    },
  };
}
