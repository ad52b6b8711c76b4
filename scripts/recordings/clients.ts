/** The clients of LangChain.js that a program would use for an exchange, each with its real address. */

import { ChatAnthropic } from "@langchain/anthropic";
import { ChatBedrockConverse } from "@langchain/aws";
import { ChatCerebras } from "@langchain/cerebras";
import { ChatCohere } from "@langchain/cohere";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogle } from "@langchain/google/node";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatGroq } from "@langchain/groq";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOllama } from "@langchain/ollama";
import { AzureChatOpenAI, ChatOpenAI } from "@langchain/openai";
import { ChatOpenRouter } from "@langchain/openrouter";
import { ChatXAI, ChatXAIResponses } from "@langchain/xai";
import { requestHandler } from "../../test/wire/unchanged/clients.js";
import { answeredModel, type Protocol } from "./protocols.js";
import type { Exchange } from "./read-exchanges.js";
import { type Fields, isFields, textOf } from "./values.js";

export interface Client {
  /** As in the table of exceptions of `test/wire/unchanged`. */
  readonly name: string;
  readonly create: () => BaseChatModel;
}

const apiKey = "test-key";
const maxRetries = 0;
/** Clients that keep the `fetch` of their making get the one of the moment. */
const send: typeof fetch = (input, init) => globalThis.fetch(input, init);

/** @param inPieces Whether the response was recorded as a stream. Otherwise the client is told to ask in one piece. */
export function clientsFor(exchange: Exchange, protocol: Protocol, inPieces: boolean): readonly Client[] {
  const model = modelOf(exchange, protocol);
  const host = exchange.url?.host ?? hostOfModel(model);
  const common = {
    model,
    apiKey,
    maxRetries,
    ...(!inPieces && { streaming: false, disableStreaming: true }),
  };
  const one = (name: string, create: () => BaseChatModel): Client => ({ name, create });
  const atHost = (name: string, more: object = {}) =>
    one(
      name,
      () =>
        new ChatOpenAI({
          ...common,
          ...more,
          configuration: { baseURL: baseOf(exchange, host), fetch: send },
        }),
    );
  switch (protocol) {
    case "anthropic":
      return [
        one(
          "ChatAnthropic",
          () =>
            new ChatAnthropic({
              ...common,
              ...thinkingOf(exchange.request),
              clientOptions: {
                fetch: send,
                ...(host !== "api.anthropic.com" && { baseURL: originOf(exchange) }),
              },
            }),
        ),
      ];
    case "gemini": {
      if (/aiplatform/.test(host))
        return [one("ChatGoogle (Vertex AI)", () => new ChatGoogle({ ...common, platformType: "gcp" }))];
      return [
        one("ChatGoogle", () => new ChatGoogle(common)),
        one("ChatGoogleGenerativeAI", () => new ChatGoogleGenerativeAI(common)),
      ];
    }
    case "converse":
      return [one("ChatBedrockConverse", () => bedrock(common))];
    case "ollama":
      return [one("ChatOllama", () => new ChatOllama({ ...common, fetch: send }))];
    case "cohere":
      return [one("ChatCohere", () => new ChatCohere(common))];
    case "responses": {
      if (host === "api.x.ai")
        return [
          one("ChatXAIResponses", () => new ChatXAIResponses(common)),
          atHost("ChatOpenAI (Responses) at xAI's host", { useResponsesApi: true }),
        ];
      if (host === "api.openai.com")
        return [
          one(
            "ChatOpenAI (Responses)",
            () => new ChatOpenAI({ ...common, useResponsesApi: true, configuration: { fetch: send } }),
          ),
        ];
      return [atHost(`ChatOpenAI (Responses) at ${host}`, { useResponsesApi: true })];
    }
    case "chat":
      return chatClients();
  }

  function chatClients(): readonly Client[] {
    if (host === "api.openai.com")
      return [
        one(
          "ChatOpenAI",
          () => new ChatOpenAI({ ...common, useResponsesApi: false, configuration: { fetch: send } }),
        ),
      ];
    if (/\.azure\.com$/.test(host) && exchange.url?.pathname.includes("/deployments/"))
      return [
        one(
          "AzureChatOpenAI",
          () =>
            new AzureChatOpenAI({
              ...common,
              azureOpenAIApiKey: apiKey,
              azureOpenAIApiInstanceName: host.split(".")[0] ?? "",
              azureOpenAIApiDeploymentName: model,
              azureOpenAIApiVersion: "2025-04-01-preview",
              configuration: { fetch: send },
            }),
        ),
      ];
    if (host === "api.deepseek.com")
      return [
        one("ChatDeepSeek", () => new ChatDeepSeek({ ...common, configuration: { fetch: send } })),
        atHost("ChatOpenAI at DeepSeek's host"),
      ];
    if (host === "api.x.ai") return [one("ChatXAI", () => new ChatXAI(common))];
    if (host === "api.groq.com") return [one("ChatGroq", () => new ChatGroq({ ...common, fetch: send }))];
    if (host === "api.cerebras.ai")
      return [one("ChatCerebras", () => new ChatCerebras({ ...common, fetch: send }))];
    if (host === "api.mistral.ai")
      return [one("ChatMistralAI", () => new ChatMistralAI(common)), atHost("ChatOpenAI at Mistral's host")];
    if (host === "openrouter.ai")
      return [one("ChatOpenRouter", () => new ChatOpenRouter(common)), atHost("ChatOpenAI at OpenRouter")];
    return [atHost(`ChatOpenAI at ${host}`)];
  }
}

function bedrock(common: object): BaseChatModel {
  // The client warns of versions of Node.js that it will leave one day.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  return new ChatBedrockConverse({
    ...common,
    region: "us-east-1",
    credentials: { accessKeyId: "x", secretAccessKey: "x" },
    // By default the client speaks HTTP/2.
    clientOptions: {
      maxAttempts: 1,
      requestHandler: requestHandler("https://bedrock-runtime.us-east-1.amazonaws.com", send),
    },
  });
}

/** Claude thinks only if it is asked to, which its client must know. */
function thinkingOf(request: Fields | undefined): object {
  const { thinking, max_tokens } = request ?? {};
  return {
    ...(isFields(thinking) && { thinking }),
    ...(typeof max_tokens === "number" && { maxTokens: Math.min(max_tokens, MOST_TOKENS) }),
  };
}

/** For more, Anthropic's client asks only in a stream. */
const MOST_TOKENS = 20_000;

/** The name that the request asked for. Without a request, the one that answered. */
function modelOf(exchange: Exchange, protocol: Protocol): string {
  const inPath = /\/(?:models|model|deployments)\/([^/:]+(?::\d+)?)/.exec(
    decodeURIComponent(exchange.url?.pathname ?? ""),
  )?.[1];
  const asked = textOf(exchange.request?.["model"]) || inPath;
  if (asked !== undefined && asked !== "") return asked;
  return answeredModel(exchange) ?? DEFAULTS[protocol];
}

const DEFAULTS: Readonly<Record<Protocol, string>> = {
  chat: "gpt-4o",
  responses: "gpt-5",
  anthropic: "claude-sonnet-4-5",
  gemini: "gemini-2.5-flash",
  converse: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  ollama: "qwen3",
  cohere: "command-a-03-2025",
};

/** Where a response without its address came from. */
function hostOfModel(model: string): string {
  return HOSTS.find(([name]) => name.test(model))?.[1] ?? "api.openai.com";
}

const HOSTS: readonly (readonly [model: RegExp, host: string])[] = [
  [/^grok/, "api.x.ai"],
  [/^deepseek/, "api.deepseek.com"],
  [/^(?:mistral|magistral|ministral|codestral|devstral|pixtral)/, "api.mistral.ai"],
  [/^(?:openai\/gpt-oss|qwen\/|meta-llama\/|moonshotai\/|llama-3)/, "api.groq.com"],
  [/^qwen/, "dashscope.aliyuncs.com"],
  [/^kimi/, "api.moonshot.ai"],
  [/^sonar/, "api.perplexity.ai"],
  [/^(?:zai-glm|gpt-oss|llama3)/, "api.cerebras.ai"],
  [/^glm/, "api.z.ai"],
  [/^claude/, "api.anthropic.com"],
  [/^[\w-]+\/[\w.-]+/, "openrouter.ai"],
];

const originOf = ({ url }: Exchange) => url?.origin ?? "";

/** The address of the client: the recorded one without the protocol's own path. */
function baseOf({ url }: Exchange, host: string): string {
  if (url === undefined) return `https://${host}/v1`;
  return `${url.origin}${url.pathname.replace(/\/(?:chat\/completions|responses|chat)$/, "")}`;
}
