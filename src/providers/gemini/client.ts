/** `ChatGoogle` and `ChatGoogleGenerativeAI`, with what they get wrong put right. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { copyMessage } from "../../history/message.js";
import { isRecord } from "../../shared/values.js";
import { identityOf } from "../dialect-of.js";
import { viewOf } from "../models/model-view.js";
import { ORIGINAL_TEXT, signatureOf } from "./dialect.js";

type Ask = Parameters<BaseChatModel["_streamResponseChunks"]>;
type Block = Exclude<MessageContent, string>[number];

/** Google documents it for calls that Gemini did not make: https://ai.google.dev/gemini-api/docs/thought-signatures */
const SENTINEL = "skip_thought_signature_validator";
/** Gemini 3 and later refuse a turn whose first call has no signature. */
const DEMANDING_MODELS = /gemini-(?:[3-9]|\d\d)/;

/**
 * A view of `ChatGoogle` that sends the calls of every message, with their signatures. Returns any other model unchanged.
 *
 * The client sends only the calls that are in the content, in Google's form. A call of another model is only in
 * `tool_calls`, so its result would be sent alone.
 */
export function sendToGoogle(model: BaseChatModel): BaseChatModel {
  if (model._llmType() !== "google") return model;
  const isDemanded = DEMANDING_MODELS.test(identityOf(model).modelId ?? "");
  const carried = (messages: BaseMessage[]) =>
    messages.map((message) => (isAIMessage(message) ? withCallBlocks(message, isDemanded) : message));
  return viewOf(model, {
    _generate(this: BaseChatModel, ...[messages, ...rest]: Ask) {
      return model._generate.call(this, carried(messages), ...rest);
    },
    _streamResponseChunks(this: BaseChatModel, ...[messages, ...rest]: Ask) {
      return model._streamResponseChunks.call(this, carried(messages), ...rest);
    },
    _streamChatModelEvents(this: BaseChatModel, ...[messages, ...rest]: Ask) {
      return model._streamChatModelEvents.call(this, carried(messages), ...rest);
    },
  });
}

function withCallBlocks(message: AIMessage, isDemanded: boolean): AIMessage {
  const { content, tool_calls: calls = [] } = message;
  const blocks = typeof content === "string" ? textBlocks(message, content) : content;
  const own = blocks.filter(isCallBlock);
  const written = calls.map((call, index) => signatureOf(call) ?? signatureOf(own[index]));
  // Of calls that are made at once, Gemini signs only the first one.
  const signatures = isDemanded && written.every((one) => one === undefined) ? [SENTINEL] : written;
  const callBlocks = calls.map(({ id = "", name, args }, index): Block => {
    const thoughtSignature = signatures[index];
    // The client has made this id, and does not send it with the result either.
    const sentId = id.startsWith("lc-tool-call-") ? {} : { id };
    return {
      type: "functionCall",
      functionCall: { ...sentId, name, args },
      ...(thoughtSignature !== undefined && { thoughtSignature }),
    };
  });
  return copyMessage(message, {
    content: [...blocks.filter((block) => !isCallBlock(block)), ...callBlocks],
  });
}

/** The client keeps the signature of a plain text beside it. */
function textBlocks({ additional_kwargs }: AIMessage, text: string): Block[] {
  const thoughtSignature = signatureOf(additional_kwargs?.[ORIGINAL_TEXT]);
  if (text.trim() === "") return [];
  return [{ type: "text", text, ...(thoughtSignature !== undefined && { thoughtSignature }) }];
}

function isCallBlock(block: unknown): boolean {
  return isRecord(block) && block["type"] === "functionCall";
}

/**
 * A view of Gemini's client whose broken streams do not end the process. Returns any other model unchanged.
 *
 * Google's package returns the stream together with a promise of the complete response. The client drops the promise.
 * When the stream breaks, nobody handles the promise's rejection.
 */
export function catchGeminiResponse(model: BaseChatModel): BaseChatModel {
  if (model._llmType() !== "googlegenerativeai") return model;
  const client: unknown = Reflect.get(model, "client");
  if (typeof client !== "object" || client === null) return model;
  const generate: unknown = Reflect.get(client, "generateContentStream");
  if (typeof generate !== "function") return model;
  const generateContentStream = async (...request: readonly unknown[]): Promise<Generated> => {
    const generated: Generated = await Reflect.apply(generate, client, request);
    generated.response.catch(() => {});
    return generated;
  };
  return viewOf(model, { client: viewOf(client, { generateContentStream }) });
}

interface Generated {
  readonly response: Promise<unknown>;
}
