import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import { identityOf } from "../../dialects/dialect-of.js";
import { ORIGINAL_TEXT, signatureOf } from "../../dialects/thought-signature.js";
import { viewOf } from "../model-view.js";

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
