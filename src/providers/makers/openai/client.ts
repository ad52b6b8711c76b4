/** OpenAI's clients. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage, MessageContent } from "@langchain/core/messages";
import { copyMessage } from "../../../history/message.js";
import { asText, parseJson, toJson } from "../../../shared/json.js";
import { hasMethods, isRecord, madeOnce, recordsIn, textIn } from "../../../shared/values.js";
import { viewOf } from "../../../shared/views.js";
import type { Block, Fields } from "../../contract/dialect.js";
import { askedThrough, callFieldsIn, fromInnerModels, isChatModel } from "../../contract/model-view.js";
import { createOpenAIModel, openaiFormat } from "../../contract/openai-client.js";
import type { ModelIdentity, Provider } from "../../contract/provider.js";
import { fillArguments, runCallIds, storedOutput, unlistCalls } from "../../contract/stored-items.js";

/** Anthropic's end with a date. OpenAI's dates have hyphens. */
const OWN_TOOL =
  /^(web_search|file_search|code_interpreter|computer|image_generation|mcp|local_shell|shell|apply_patch)(?!_?\w*_\d{8}$)/;

/** OpenAI, and what every host with its protocol has from it. */
export const openaiProvider: Provider = {
  models: {
    openai: {
      install: "npm install @langchain/openai",
      keys: ["OPENAI_API_KEY"],
      baseURL: "OPENAI_BASE_URL",
      usualDialect: "openai",
      create: createOpenAIModel,
    },
  },
  modelNames: [/^(gpt|chatgpt|o\d)/i, "openai"],
  finishReasons: {
    done: ["stop", "completed"],
    calls: ["tool_calls", "function_call"],
    limit: ["length", "max_output_tokens", "incomplete"],
    withheld: ["content_filter"],
    interrupted: ["failed", "cancelled"],
    // A response with `background: true`.
    pending: ["queued", "in_progress"],
  },
  finishFields: ["finish_reason"],
  finishIn: readStatus,
  refusalIn: ({ additional_kwargs }) => {
    const text = textIn(additional_kwargs, "refusal") ?? "";
    return text === "" ? undefined : { text };
  },
  overflow: [
    // Status 400, `context_length_exceeded`: "This model's maximum context length is 4097 tokens. However, your
    // messages resulted in 4619 tokens." (ChatGPTNextWeb/NextChat#625)
    // The same words with "you requested 131134 tokens (122942 in the messages, 8192 in the completion)": DeepSeek
    // (evalstate/fast-agent#621), vLLM (vllm#20409). OpenRouter: "you requested about 243013 tokens (238917 of text
    // input, 4096 in the output)" (continuedev/continue#10690).
    "maximum context length is <limit> tokens[.,;]? ?(?:however)?,? ?(?:your messages resulted in|you requested(?: about)?) <total> tokens(?:[^)]{0,80}?<output> (?:in|for) the (?:completion|output))?",
    // "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens."
    // (archi-physics/archi#497)
    "exceed the configured limit of <limit> tokens. Your messages resulted in <input> tokens",
    // The Responses API: "Your input exceeds the context window of this model." (the-open-agent/openagent#2344)
    "exceeds the context window",
    // `string_above_max_length`: "Invalid 'messages[1].content': string too long. Expected a string with maximum
    // length 1048576, but got a string with length 1056035 instead." The numbers are characters of one message.
    "Invalid '(?:messages|input)[^']{0,100}(?<!id|name)': string too long",
  ],
  refusedMedia: [
    // "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg',
    // 'gif', 'webp']." (marketing-factory/ai-filemetadata#18); "unsupported image. Please make sure your image is valid."
    // (openai/openai-node#1463); "You have uploaded an unsupported image." (Moonlark-Dev/Moonlark#1437)
    "unsupported image",
    // "The image data you provided does not represent a valid image." (acoyfellow/my-ax#69)
    "does not represent a valid image",
    // "Invalid MIME type. Only image types are supported." (langgenius/dify#11527)
    "Invalid MIME type",
    // "Invalid 'input[101].content[1].image_url'. Expected a base64-encoded data URL with an image MIME type ..., but got
    // empty base64-encoded bytes." (anomalyco/opencode#23983); "Invalid image URL: 'messages[0].content[1].image_url.url'."
    // (Alibaba-NLP/OmniSearch#3)
    "Expected a base64-encoded data URL",
    "Invalid image URL",
    // `invalid_image_url`: "Failed to download image from image. Image URL is invalid." (o19s/quepid#1697); "Error while
    // downloading https://..." (openai/openai-python#2776); "Timeout while downloading ..." (vercel/ai#8857)
    "Failed to download image",
    "(?:Error|Timeout) while downloading",
    // `invalid_image_format` (STranslate/STranslate#277)
    "\\binvalid_image_(?:url|format)\\b",
    // "Invalid content type. image_url is only supported by certain models."
    // (roboflow/awesome-openai-vision-api-experiments#11)
    "image_url is only supported by certain models",
    // "404 No such File object: file-vyA4ivhKGPlD4hezlXpAtOGN" (danny-avila/LibreChat#2632)
    "No such File object",
  ],
  tooMany: {
    // "Invalid 'messages[2].tool_calls': array too long. Expected an array with maximum length 128, but got an array with
    // length 200 instead." (openai/openai-dotnet#317)
    calls: ["tool_calls': array too long. Expected an array with maximum length <most>"],
    // "Invalid 'messages': array too long. Expected an array with maximum length 2048" (obot-platform/obot#1009)
    messages: ["Invalid '(?:messages|input)': array too long. Expected an array with maximum length <most>"],
  },
  otherApi: {
    // "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. To use function
    // tools, use /v1/responses or set reasoning_effort to 'none'." (sandialabs/atlas-ui-3#756); "This model is only supported
    // in v1/responses and not in v1/chat/completions."
    responses: ["(?:\\buse|(?<!not )supported(?: only)? in) (?:the )?`?/?(?:v1/)?responses\\b"],
    completions: ["(?:\\buse|(?<!not )supported(?: only)? in) (?:the )?`?/?(?:v1/)?chat/completions\\b"],
  },
  formats: {
    openai: openaiFormat,
    "openai-responses": openaiFormat,
    "responses-compatible": openaiFormat,
  },
  tools: {
    maker: "OpenAI",
    dialects: ["openai", "openai-responses", "responses-compatible"],
    isOwn: ({ type }) => OWN_TOOL.test(asText(type)),
    sentAs: { openai: { dialect: "openai-responses", settings: { useResponsesApi: true } } },
  },
  // It gives no fields: a message with some comes from another host with the same model.
  hostFields: [
    {
      host: /(^|\.)openai\.com$|\.openai\.azure\.(com|us|cn)$|\.cognitiveservices\.azure\.com$/,
      accepts: [],
    },
  ],
  correctClient: (model, identity) => keepCallFields(readAnyRefusal(model), identity),
  correctResponse: wholeItems,
  correctCalls: (message, tools) => {
    fillArguments(message);
    const ids = runCallIds(message, tools);
    if (ids.size > 0) unlistCalls(message, ids);
  },
  // Anthropic, DeepSeek and DashScope have the same form.
  secrets: ["sk-[\\w*-]{6,}"],
};

type Fetch = typeof fetch;

/**
 * A view of a client with OpenAI's package that reads every host's refusals. Returns any other model unchanged.
 *
 * The package reads only the object in a body's field `error`, and says "400 status code (no body)" of any other body,
 * such as those of Mistral, xAI, vLLM and FastAPI: up to `openai` 6.49.0 at least,
 * https://github.com/openai/openai-node/issues/1734
 */
function readAnyRefusal(model: BaseChatModel): BaseChatModel {
  const parts = fromInnerModels(model, readAnyRefusal);
  if (Object.keys(parts).length > 0) return viewOf(model, parts);
  const config: unknown = Reflect.get(model, "clientConfig");
  const client: unknown = Reflect.get(model, "client");
  const isOwn = client === undefined || hasMethods(client, "makeStatusError", "fetch");
  if (!isRecord(config) || !isOwn || typeof Reflect.get(model, "_getClientOptions") !== "function")
    return model;
  // The view makes a client of its own when it is first used.
  return viewOf(model, { clientConfig: readingConfigOf(config), client: undefined });
}

const readingConfigs = new WeakMap<object, object>();

function readingConfigOf(config: Fields): object {
  return madeOnce(readingConfigs, config, () => {
    const send = typeof config["fetch"] === "function" ? (config["fetch"] as Fetch) : undefined;
    const reading: Fetch = async (...request) => withError(await (send ?? fetch)(...request));
    return { ...config, fetch: reading };
  });
}

async function withError(response: Response): Promise<Response> {
  if (response.ok) return response;
  const { status, statusText, headers } = response;
  const text = await response.text().catch(() => "");
  const parsed = parseJson(text);
  // Google's endpoint sends a list.
  const body: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  return new Response(isRecord(body) ? toJson(inOpenAIForm(body)) : text, { status, statusText, headers });
}

function inOpenAIForm(body: Fields): Fields {
  const { error } = body;
  return isRecord(error)
    ? body
    : { error: { ...body, ...(typeof error === "string" && { message: error }) } };
}

/**
 * A view of OpenAI's client for the Responses API that sends the namespace and the caller of each call. Returns any
 * other model unchanged.
 *
 * The client knows them only in stored items, and writes the items of another model's calls anew. It also writes an
 * empty text beside calls as a message, which DeepSeek refuses. Both up to `@langchain/openai` 1.5.8 at least.
 */
function keepCallFields(model: BaseChatModel, { host, modelId }: ModelIdentity): BaseChatModel {
  const responses: unknown = Reflect.get(model, "responses");
  if (!isChatModel(responses)) return model;
  const complete: unknown = Reflect.get(responses, "completionWithRetry");
  if (typeof complete !== "function") return model;
  const refusesEmpty = [host, modelId].some((name) => name !== undefined && /deepseek/i.test(name));
  const sending = askedThrough(responses, (client, messages) => {
    const completionWithRetry = (request: Fields, ...options: readonly unknown[]) => {
      const input = recordsIn(request["input"]);
      const kept = refusesEmpty ? input.filter((item) => !isEmptyMessage(item)) : input;
      return Reflect.apply(complete, client, [
        { ...request, input: withCallFields(kept, messages) },
        ...options,
      ]);
    };
    return [viewOf(client, { completionWithRetry }), messages];
  });
  return viewOf(model, { responses: sending });
}

function isEmptyMessage({ type, role, content }: Fields): boolean {
  return type === "message" && role === "assistant" && content === "";
}

function withCallFields(items: readonly Fields[], messages: readonly BaseMessage[]): readonly Fields[] {
  const fieldsOf = callFieldsIn(messages, ["namespace", "caller"]);
  const isCall = ({ type }: Fields) => type === "function_call" || type === "custom_tool_call";
  return items.map((item) => (isCall(item) ? { ...fieldsOf(item["call_id"]), ...item } : item));
}

/**
 * A streamed response's message with what its items have at their end. A client that stores nothing at OpenAI sends the
 * encrypted reasoning and the phase from these places, but its stream has the items as they begin: up to
 * `@langchain/openai` 1.5.8 at least, https://github.com/langchain-ai/langchainjs/issues/10844
 */
function wholeItems(message: AIMessageChunk): AIMessageChunk {
  const output = recordsIn(storedOutput(message));
  const reasoning = output.findLast(({ type }) => type === "reasoning");
  const given: unknown = message.additional_kwargs["reasoning"];
  const isWhole =
    textIn(reasoning, "encrypted_content") === undefined || textIn(given, "encrypted_content") !== undefined;
  const content = withPhases(message.content, output);
  if (isWhole && content === message.content) return message;
  return copyMessage(message, {
    content,
    ...(!isWhole && { additional_kwargs: { ...message.additional_kwargs, reasoning } }),
  });
}

/** LangChain joins several items' texts into one block. Phases tell them apart. */
function withPhases(content: MessageContent, output: readonly Fields[]): MessageContent {
  const texts = output.flatMap(({ type, phase, content: parts }) =>
    type === "message"
      ? recordsIn(parts).flatMap((part) => (part["type"] === "output_text" ? [{ part, phase }] : []))
      : [],
  );
  if (!Array.isArray(content) || !texts.some(({ phase }) => typeof phase === "string")) return content;
  const streamed = content.filter(({ type }) => type === "text");
  const isSame = streamed.length === texts.length;
  if (isSame && texts.every(({ phase }, index) => streamed[index]?.["phase"] === phase)) return content;
  const whole = texts.map(({ part, phase }, index): Block => {
    const { text, annotations } = part;
    return {
      type: "text",
      text,
      annotations,
      ...(isSame && streamed[index]),
      ...(phase !== null && { phase }),
    };
  });
  return [...content.filter(({ type }) => type !== "text"), ...whole];
}

/** Statuses of the Responses API. Other clients can use the field for something else. */
const STATUSES: ReadonlySet<unknown> = new Set([
  ...["completed", "incomplete", "failed", "cancelled", "queued", "in_progress"],
]);

function readStatus(record: Fields): string | undefined {
  const status = textIn(record, "status");
  if (!STATUSES.has(status)) return undefined;
  return (status === "incomplete" && textIn(record["incomplete_details"], "reason")) || status;
}
