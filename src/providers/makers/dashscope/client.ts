/**
 * `ChatAlibabaTongyi` with retries, and with DashScope's text in its errors.
 *
 * The client's `AsyncCaller` cannot see its requests fail. A stream's request is sent when the first chunk is read,
 * outside the caller. Without streaming the client ignores the HTTP status, so a refusal without `code` looks like an
 * empty response. It also loses DashScope's error text, decodes a character that the network cut as two broken ones,
 * and skips lines that it cannot read: up to `@langchain/community` 1.1.29 at least. So the two sending methods are
 * replaced.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { convertEventStreamToIterableReadableDataStream } from "@langchain/core/utils/event_source_parse";
import { importOptional } from "../../../shared/import-optional.js";
import { viewOf } from "../../../shared/views.js";
import { createOpenAIModel } from "../../contract/openai-client.js";
import type { ForcedCall, ModelFields, Provider } from "../../contract/provider.js";

const COMPATIBLE_URL = "https://dashscope.aliyuncs.com/compatible-mode/v1";

export const dashscopeProvider: Provider = {
  models: {
    /** Qwen over the native protocol. */
    tongyi: {
      // This package's peers contradict each other, so npm refuses it without the setting. With only
      // `--legacy-peer-deps`, npm would refuse every later install.
      install: "npm config set legacy-peer-deps=true --location=project && npm install @langchain/community",
      keys: ["ALIBABA_API_KEY", "DASHSCOPE_API_KEY"],
      baseURL: "DASHSCOPE_API_URL",
      dialect: "dashscope-native",
      create: createTongyiModel,
    },
    /** Qwen over the OpenAI-compatible endpoint. */
    qwen: {
      install: "npm install @langchain/openai",
      keys: ["DASHSCOPE_API_KEY", "ALIBABA_API_KEY"],
      baseURL: "DASHSCOPE_BASE_URL",
      dialect: "dashscope",
      create: (fields) => createOpenAIModel({ ...fields, baseURL: fields.baseURL ?? COMPATIBLE_URL }),
    },
  },
  modelNames: [/^qw/i, "qwen"],
  // The bare tag is not enough, because a text can mention it. Hermes writes the same.
  callMarkup: [/<tool_call>\s*(?:\{\s*"|<function=)/gu],
  correctClient: sendToDashScope,
  // The native client has no such option.
  forcedCall: { dashscope: namedUnlessThinking, "dashscope-native": namedUnlessThinking },
  formats: { "dashscope-native": { options: () => ({}) } },
  // Status 400: "Range of input length should be [1, 30720]" (QwenLM/Qwen-Agent#615)
  refusedMedia: [
    // "<400> InternalError.Algo.InvalidParameter: The image length and width do not meet the model restrictions."
    // (QwenLM/qwen-code#2505)
    "image length and width do not meet",
    // "Failed to download multimodal content" (agentscope-ai/agentscope-java#2700); "Missing Content-Length of multimodal
    // url" (lobehub/lobehub#5052); "Multimodal file size is too large" (DreamMr/HR-Bench#6)
    "multimodal (?:content|url|file)",
  ],
  tooMany: {
    // "Exceeded limit on max data-uri per request: 250" (infiniflow/ragflow#9244)
    pictures: ["Exceeded limit on max data-uri per request: <most>"],
  },
  overflow: ["Range of input length should be \\[\\d+, ?<limit>\\]"],
  // "Exceeded limit on max bytes to request body : 6291456" (langgenius/dify#35311)
  tooManyBytes: ["Exceeded limit on max bytes to request body"],
};

/** DashScope does not know "required". */
function namedUnlessThinking(client: object): ForcedCall {
  return Reflect.get(client, "enableThinking") === true ? "nothing" : "named";
}

async function createTongyiModel({ apiKey, baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatAlibabaTongyi } = await importOptional<
    typeof import("@langchain/community/chat_models/alibaba_tongyi")
  >("@langchain/community/chat_models/alibaba_tongyi");
  const apiUrl = baseURL === undefined ? {} : { apiUrl: baseURL };
  const client = new ChatAlibabaTongyi({ ...fields, alibabaApiKey: apiKey, ...apiUrl });
  // One of them is private in the types, so a subclass cannot override either.
  for (const [name, value] of Object.entries(sendingMethods(client)))
    Object.defineProperty(client, name, { value });
  return client;
}

/** A view of a user's own client with the same methods. Returns any other model unchanged. */
function sendToDashScope(model: BaseChatModel): BaseChatModel {
  return isTongyiClient(model) && !Object.hasOwn(model, "createTongyiStream")
    ? viewOf(model, sendingMethods(model))
    : model;
}

/** What is used of `ChatAlibabaTongyi`. */
interface TongyiClient {
  readonly apiUrl: string;
  readonly alibabaApiKey?: string | undefined;
  readonly caller: BaseChatModel["caller"];
  completionWithRetry(
    request: object,
    streams: boolean,
    signal?: AbortSignal,
    ...more: never[]
  ): Promise<unknown>;
}

function isTongyiClient(model: BaseChatModel): model is BaseChatModel & TongyiClient {
  return model._llmType() === "alibaba_tongyi" && "apiUrl" in model && "completionWithRetry" in model;
}

const STREAMING = { Accept: "text/event-stream", "X-DashScope-SSE": "enable" };

function sendingMethods(client: TongyiClient) {
  const send = async (request: object, signal?: AbortSignal, headers = {}): Promise<Response> => {
    const authorization = {
      Authorization: `Bearer ${client.alibabaApiKey}`,
      "Content-Type": "application/json",
    };
    const response = await fetch(client.apiUrl, {
      method: "POST",
      headers: { ...headers, ...authorization },
      body: JSON.stringify(request),
      ...(signal && { signal }),
    });
    if (response.ok) return response;
    const text = await response.text();
    const { status, headers: given } = response;
    throw Object.assign(new Error(`${status} ${text}`), { status, headers: given });
  };
  const collectStream = client.completionWithRetry.bind(client);
  return {
    completionWithRetry: (request: object, streams: boolean, signal?: AbortSignal, ...more: never[]) =>
      streams
        ? collectStream(request, streams, signal, ...more)
        : client.caller.call(async () => (await send(request, signal)).json()),
    // The client calls this within its caller, and awaits it there.
    createTongyiStream: async (request: object, signal?: AbortSignal) =>
      readEvents(await send(request, signal, STREAMING)),
  };
}

async function* readEvents({ body }: Response): AsyncGenerator<object> {
  if (body === null) return;
  for await (const data of convertEventStreamToIterableReadableDataStream(body)) yield JSON.parse(data);
}
