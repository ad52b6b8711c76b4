/** `ChatGoogle` and `ChatGoogleGenerativeAI`, with their mistakes corrected. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { isAIMessage } from "../../../history/call.js";
import { copyMessage, mapBlocks } from "../../../history/message.js";
import { asText } from "../../../shared/json.js";
import { isRecord, recordsIn, textIn } from "../../../shared/values.js";
import { viewOf } from "../../../shared/views.js";
import type { Block, Fields } from "../../contract/dialect.js";
import { DETAILS, isGiven } from "../../contract/host-fields.js";
import { askedThrough } from "../../contract/model-view.js";
import { byLangChain, type ModelIdentity, type Provider } from "../../contract/provider.js";
import { mapSchemas } from "../../contract/response-format.js";
import { GEMINI_SENTINEL, needsSignature, ORIGINAL_TEXT, signatureOf } from "./dialect.js";

export const geminiProvider: Provider = {
  models: {
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
    // The client finds its credentials and host itself.
    "google-vertexai": byLangChain("google-vertexai", {
      package: "@langchain/google-vertexai",
      dialect: "gemini",
    }),
  },
  modelNames: [/^(gemini|gemma)/i, "google-genai"],
  finishReasons: {
    calls: ["malformed_function_call", "unexpected_tool_call"],
    limit: ["max_tokens"],
    // Those after which a piece of a text can stand: https://ai.google.dev/api/generate-content#FinishReason
    withheld: ["safety", "recitation", "prohibited_content", "blocklist", "spii"],
  },
  finishFields: ["finishReason"],
  hostFields: [
    { host: /(^|\.)openrouter\.ai$/, signed: signedForOpenRouter },
    { host: /\.googleapis\.com$/, signed: signedForGoogle },
  ],
  overflow: [
    // Status 400: "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."
    // (google-gemini/gemini-cli#6678)
    "input token count \\(<input>\\) exceeds the maximum number of tokens allowed \\(<limit>\\)",
    // Vertex AI: "Unable to submit request because the input token count is 32825 but model only supports up to 32768."
    "input token count is <input> but model only supports up to <limit>",
  ],
  refusedMedia: [
    // "Unsupported MIME type: image/svg+xml" (google-gemini/gemini-cli#3054)
    "Unsupported MIME type",
    // "* GenerateContentRequest.contents[0].parts[1].inline_data.mime_type: MIME type must be image/png, image/jpeg, ..."
    // (EvanZhouDev/gemini-ai#3)
    "MIME type must be",
    // "Unable to process input image." (egoist/chatwise-releases#799)
    "Unable to process input (?:image|video|audio|document|file)",
    // (AmberSahdev/Open-Interface#64), (google-gemini/gemini-cli#13808)
    "Provided image is not valid|document has no pages",
    // "Image input modality is not enabled for <MY_TUNED_MODEL>" (google/generative-ai-docs#513)
    "Image input modality is not enabled",
    // An uploaded file expires after two days: "You do not have permission to access the File xxxx or it may not exist."
    // with status 403 (googleapis/python-genai#1218)
    "permission to access the File \\S{1,100} or it may not exist",
    // "Request payload size exceeds the limit: 4194304 bytes." (google-gemini/deprecated-generative-ai-android#26)
    "Request payload size exceeds the limit",
  ],
  secrets: ["AIza[\\w-]{6,}"],
  formats: {
    gemini: {
      // Gemini refuses these keywords.
      options: ({ jsonSchema }) => ({
        responseSchema: mapSchemas(
          jsonSchema,
          ({ additionalProperties: _more, $schema: _draft, ...rest }) => rest,
        ),
      }),
      // "Function calling with a response mime type: 'application/json' is unsupported"
      isKept: (_, hasTools) => !hasTools,
    },
  },
  // Such a tool's only key is its name.
  tools: { maker: "Google", dialects: ["gemini"], isOwn: ({ type }) => typeof type !== "string" },
  correctClient: (model, identity) => sendToGoogle(tellBlocked(passSignal(answerWhole(model))), identity),
  correctResponse: withoutUnnamedCalls,
  // Gemini calls every exhausted minute an exceeded quota, and its client keeps no headers.
  retryIn: /\bretry in (\d+(?:\.\d+)?)s/i,
  cutStream: "\\[GoogleGenerativeAI Error\\]: (?:Failed to parse|Error reading from the) stream",
  isEmptyResponse: (error) => Reflect.get(error, "name") === "EmptyContentError",
};

/**
 * A view of `ChatGoogle` that sends every message's calls, with their signatures. Returns any other model unchanged.
 *
 * The client sends only calls that are in the content, in Google's form. Another model's call is only in `tool_calls`,
 * so its result would be sent alone: up to `@langchain/google` 0.2.6 at least,
 * https://github.com/langchain-ai/langchainjs/issues/10360
 */
function sendToGoogle(model: BaseChatModel, { modelId = "" }: ModelIdentity): BaseChatModel {
  if (model._llmType() !== "google") return model;
  const isDemanded = needsSignature(modelId);
  return askedThrough(model, (client, messages) => [
    client,
    messages.map((message) => (isAIMessage(message) ? withCallBlocks(message, isDemanded) : message)),
  ]);
}

function withCallBlocks(message: AIMessage, isDemanded: boolean): AIMessage {
  const { content, tool_calls: calls = [] } = message;
  const blocks = typeof content === "string" ? textBlocks(message, content) : content.filter(isPart);
  const own = blocks.filter(isFunctionCall);
  const written = calls.map((call, index) => signatureOf(call) ?? signatureOf(own[index]));
  // Of calls made at once, Gemini signs only the first.
  const signatures = isDemanded && written.every((one) => one === undefined) ? [GEMINI_SENTINEL] : written;
  const left = calls.map(({ id = "", name, args }, index): Block => {
    const thoughtSignature = signatures[index];
    const { functionCall, ...part } = Object(own[index]);
    // The client made this id, and does not send it with the result either.
    const sentId = id.startsWith("lc-tool-call-") ? {} : { id };
    return {
      ...part,
      type: "functionCall",
      functionCall: { ...functionCall, ...sentId, name, args },
      ...(thoughtSignature !== undefined && { thoughtSignature }),
    };
  });
  // Each call in its place.
  const sent = blocks.flatMap((block) => (isFunctionCall(block) ? left.splice(0, 1) : [typeless(block)]));
  return copyMessage(message, { content: [...sent, ...left] });
}

/** Not a thought in LangChain's `v1` form, which the client sends as an unknown part. */
function isPart(block: unknown): boolean {
  return !isRecord(block) || block["type"] !== "reasoning";
}

/** The part of a block that the client has only named by its field. Google knows no types. */
function typeless(block: Block): Block {
  const { type, ...part } = block;
  return isRecord(part[asText(type)]) && !KNOWN_PARTS.includes(type) ? (part as Block) : block;
}

/** The parts whose type the client takes away itself. */
const KNOWN_PARTS: readonly unknown[] = [
  "functionCall",
  "executableCode",
  "codeExecutionResult",
  "image_url",
];

/** The client keeps a plain text's signature beside it. */
function textBlocks({ additional_kwargs }: AIMessage, text: string): Block[] {
  const thoughtSignature = signatureOf(additional_kwargs?.[ORIGINAL_TEXT]);
  if (text.trim() === "") return [];
  return [{ type: "text", text, ...(thoughtSignature !== undefined && { thoughtSignature }) }];
}

function isFunctionCall(block: unknown): boolean {
  return isRecord(block) && block["type"] === "functionCall";
}

/*
 * If Gemini blocks a prompt, its response has no candidate. A candidate can also have a finish reason and no content.
 * The clients drop such a response in a stream, and otherwise throw: up to `@langchain/google` 0.2.6 and
 * `@langchain/google-genai` 2.3.2 at least (https://github.com/langchain-ai/langchainjs/pull/11400). Here both become
 * responses that say why there is no text.
 */

/** Undefined if the prompt was not blocked. Gemini's `OTHER` is no reason. */
function blockedReasonIn(feedback: unknown): string | undefined {
  const reason = textIn(feedback, "blockReason");
  return reason === "OTHER" ? "blocked" : reason;
}

const NO_CONTENT = { role: "model", parts: [] };

function withCandidate(response: unknown): unknown {
  if (!isRecord(response)) return response;
  const { candidates, promptFeedback } = response;
  const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
  const finishReason = blockedReasonIn(promptFeedback);
  if (isRecord(first) && first["content"] === undefined)
    return { ...response, candidates: [{ ...first, content: NO_CONTENT }] };
  if (isRecord(first) || finishReason === undefined) return response;
  return { ...response, candidates: [{ index: 0, content: NO_CONTENT, finishReason }] };
}

/**
 * A view of `ChatGoogleGenerativeAI` whose responses have a candidate with content. Returns any other model unchanged.
 *
 * Google's package returns a stream together with a promise of the whole response, which the client does not read. When
 * the stream breaks, nobody handles the promise's rejection: up to `@google/generative-ai` 0.24.1 at least.
 */
function answerWhole(model: BaseChatModel): BaseChatModel {
  if (model._llmType() !== "googlegenerativeai") return model;
  const client: unknown = Reflect.get(model, "client");
  if (!isRecord(client)) return model;
  const { generateContent, generateContentStream } = client;
  if (typeof generateContent !== "function" || typeof generateContentStream !== "function") return model;
  const repaired = {
    generateContent: async (body: unknown, ...more: readonly unknown[]) => {
      const request = [withParts(body), ...more];
      const generated: { readonly response: unknown } = await Reflect.apply(generateContent, client, request);
      return { ...generated, response: withCandidate(generated.response) };
    },
    generateContentStream: async (body: unknown, ...more: readonly unknown[]) => {
      const request = [withParts(body), ...more];
      const generated: { readonly stream: AsyncIterable<unknown>; readonly response: Promise<unknown> } =
        await Reflect.apply(generateContentStream, client, request);
      generated.response.catch(() => {});
      return { ...generated, stream: withCandidates(generated.stream) };
    },
  };
  return askedThrough(viewOf(model, { client: viewOf(client, repaired) }), (asked, messages) => [
    asked,
    messages.map(wrapped),
  ]);
}

/** The client sends the value of such a block as a part with this name. It is unwrapped in the request. */
const WRAPPING = "executableCode";
const WRAPPED = "tether_part";

/** The message with parts of Google in a form for which the client does not throw, as 2.3.2 still does. */
function wrapped(message: BaseMessage): BaseMessage {
  if (!isAIMessage(message)) return message;
  return mapBlocks(message, (block) =>
    isUnknownPart(block) ? { type: WRAPPING, [WRAPPING]: { [WRAPPED]: typeless(block) } } : block,
  );
}

/** The client stores what it does not know as Google has it, or with the name of its field as the type. */
function isUnknownPart(block: Block): boolean {
  const { type, ...part } = block;
  if (KNOWN_PARTS.includes(type) || "functionCall" in block) return false;
  return type === undefined || isRecord(part[asText(type)]);
}

function withParts(request: unknown): unknown {
  if (!isRecord(request) || !Array.isArray(request["contents"])) return request;
  const contents = recordsIn(request["contents"]).map((content) => ({
    ...content,
    parts: recordsIn(content["parts"]).map((part) => {
      const value: unknown = part[WRAPPING];
      return isRecord(value) && WRAPPED in value ? value[WRAPPED] : part;
    }),
  }));
  return { ...request, contents };
}

async function* withCandidates(stream: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const response of stream) yield withCandidate(response);
}

/** A view of `ChatGoogle` that returns a response for a blocked prompt. Returns any other model unchanged. */
function tellBlocked(model: BaseChatModel): BaseChatModel {
  if (model._llmType() !== "google") return model;
  return viewOf(model, {
    async _generate(
      this: BaseChatModel,
      ...[messages, options, run]: Parameters<BaseChatModel["_generate"]>
    ): Promise<ChatResult> {
      try {
        return await model._generate.call(this, messages, options, run);
      } catch (error) {
        const finishReason = blockedReasonIn(error);
        if (finishReason === undefined) throw error;
        const message = new AIMessage({ content: "", response_metadata: { finishReason } });
        return { generations: [{ text: "", message }] };
      }
    },
    async *_streamResponseChunks(
      this: BaseChatModel,
      ...[messages, options, run]: Parameters<BaseChatModel["_streamResponseChunks"]>
    ) {
      let finishReason: string | undefined;
      let isEmpty = true;
      // The client shows its run what it receives, and drops what has no candidate.
      const watching = {
        handleCustomEvent: async (name: string, data: unknown): Promise<void> => {
          if (isRecord(data) && isRecord(data["chunk"]))
            finishReason ??= blockedReasonIn(data["chunk"]["promptFeedback"]);
          await run?.handleCustomEvent(name, data);
        },
        handleLLMNewToken: async (...token: readonly unknown[]): Promise<void> =>
          run === undefined ? undefined : Reflect.apply(run.handleLLMNewToken, run, token),
      };
      for await (const chunk of model._streamResponseChunks.call(
        this,
        messages,
        options,
        watching as never,
      )) {
        isEmpty = false;
        yield chunk;
      }
      if (!isEmpty || finishReason === undefined) return;
      const message = new AIMessageChunk({ content: "", response_metadata: { finishReason } });
      yield new ChatGenerationChunk({ text: "", message, generationInfo: { finishReason } });
    },
  });
}

/**
 * A view of Gemini's client that ends a non-streaming request when its signal aborts. The client itself only drops it: up
 * to `@langchain/google-genai` 2.3.2 at least, https://github.com/langchain-ai/langchainjs/pull/11563
 */
function passSignal(model: BaseChatModel): BaseChatModel {
  const complete: unknown = Reflect.get(model, "completionWithRetry");
  if (model._llmType() !== "googlegenerativeai" || typeof complete !== "function") return model;
  return viewOf(model, {
    _generate(this: BaseChatModel, ...[messages, options, run]: Parameters<BaseChatModel["_generate"]>) {
      const completionWithRetry = (request: unknown) => Reflect.apply(complete, this, [request, options]);
      return model._generate.call(viewOf(this, { completionWithRetry }), messages, options, run);
    },
  });
}

/**
 * In LangChain's `v1` form, `ChatGoogle` also writes each call as a block without an id. When such a message is read
 * from a checkpoint, LangChain takes each of these blocks for another call. Up to `@langchain/google` 0.2.6 at least.
 */
function withoutUnnamedCalls(message: AIMessageChunk): AIMessageChunk {
  if (!message.tool_calls?.length) return message;
  return mapBlocks(message, (block) =>
    isRecord(block) && block["type"] === "tool_call" && block["id"] === undefined ? undefined : block,
  );
}

/*
 * Gemini at hosts with OpenAI's protocol, each of which has its own place for a signature. Other hosts may keep
 * signatures themselves, so they get nothing.
 */

function signedForGoogle(message: Fields, modelId: string): Fields {
  const calls = recordsIn(message["tool_calls"]);
  const [first, ...others] = calls;
  // Of calls made at once, Gemini signs only the first.
  const isSigned = calls.some((call) => isRecord(call["extra_content"]));
  if (first === undefined || isSigned || !needsSignature(modelId)) return message;
  const extra_content = { google: { thought_signature: GEMINI_SENTINEL } };
  return { ...message, tool_calls: [{ ...first, extra_content }, ...others] };
}

/** One entry per message, with its first call's id: RooCodeInc/Roo-Code/pull/10640 */
function signedForOpenRouter(message: Fields, modelId: string): Fields {
  const [first] = recordsIn(message["tool_calls"]);
  if (first === undefined || isGiven(message[DETAILS]) || !needsSignature(modelId)) return message;
  const detail = { type: "reasoning.encrypted", data: GEMINI_SENTINEL, id: first["id"] };
  return { ...message, [DETAILS]: [{ ...detail, format: "google-gemini-v1", index: 0 }] };
}
