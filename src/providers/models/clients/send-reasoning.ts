/**
 * OpenAI's client and those made of it, among them `ChatDeepSeek`, read `reasoning_content` from an answer and never
 * send it. Their converter passes unknown content blocks through, so the reasoning travels as such a block from the
 * message to the request, where it becomes the field that the host reads.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { copyMessage } from "../../../history/copy-message.js";
import { REASONING_FIELD, reasoningOf } from "../../input/reasoning-field.js";
import { identityOf } from "../dialect-of.js";
import { isChatModel, viewOf } from "../model-view.js";

/**
 * A view of the model that sends the reasoning of earlier answers back, as the model input carries it; the model itself
 * where nobody would read it.
 *
 * DeepSeek gets it always. Of an unknown host it is only known that it speaks OpenAI's protocol: some serve DeepSeek's
 * thinking and demand the field (https://github.com/danny-avila/LibreChat/issues/13366), others refuse it
 * (https://github.com/janhq/jan/issues/8136). It gets the field if its model is DeepSeek's or Kimi's by name, or wrote
 * some reasoning in this thread.
 */
export function sendReasoning(model: BaseChatModel): BaseChatModel {
  const { dialect, modelId = "" } = identityOf(model);
  if (dialect !== "deepseek" && (dialect !== "strict" || model._llmType() !== "openai")) return model;
  const isDemanded = dialect === "deepseek" || DEMANDING_MODELS.test(modelId);
  return withReasoning(model, (messages) => isDemanded || messages.some((message) => !!reasoningOf(message)));
}

/** Not the small models of other makers that learned from DeepSeek's: `deepseek-r1-distill-llama-70b`. */
const DEMANDING_MODELS = /^(?!.*distill).*\b(?:deepseek|kimi)/i;

type IsSent = (messages: readonly BaseMessage[]) => boolean;
type Ask = Parameters<BaseChatModel["_streamResponseChunks"]>;

function withReasoning(model: BaseChatModel, isSent: IsSent): BaseChatModel {
  // `ChatOpenAI` hands on to one of two models; the other one speaks the Responses API.
  const completions: unknown = Reflect.get(model, "completions");
  if (isChatModel(completions)) return viewOf(model, { completions: withReasoning(completions, isSent) });
  const complete: unknown = Reflect.get(model, "completionWithRetry");
  if (typeof complete !== "function") return model;
  const carried = (messages: BaseMessage[]) => (isSent(messages) ? messages.map(carryReasoning) : messages);
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
    completionWithRetry(this: BaseChatModel, request: Request, ...rest: readonly unknown[]): unknown {
      const messages = request.messages.map(unpackReasoning);
      return Reflect.apply(complete, this, [{ ...request, messages }, ...rest]);
    },
  });
}

interface Request {
  readonly messages: readonly object[];
}

const CARRIER = "tether_reasoning";

interface Carrier {
  readonly type: typeof CARRIER;
  readonly reasoning: string;
  /** The content, if it was a text. */
  readonly text: string | undefined;
}

/** Puts the reasoning before the content. */
function carryReasoning(message: BaseMessage): BaseMessage {
  const reasoning = reasoningOf(message);
  if (reasoning === undefined) return message;
  const { content } = message;
  const isText = typeof content === "string";
  if (!isText && content.some(isCarrier)) return message;
  const carrier: Carrier = { type: CARRIER, reasoning, text: isText ? content : undefined };
  return copyMessage(message, { content: isText ? [{ ...carrier }] : [{ ...carrier }, ...content] });
}

function isCarrier(block: unknown): block is Carrier {
  return typeof block === "object" && block !== null && "type" in block && block.type === CARRIER;
}

function unpackReasoning(message: object): object {
  if (!("content" in message) || !Array.isArray(message.content)) return message;
  const carrier = message.content.find(isCarrier);
  if (carrier === undefined) return message;
  const blocks = message.content.filter((block) => block !== carrier);
  return { ...message, content: carrier.text ?? blocks, [REASONING_FIELD]: carrier.reasoning };
}
