/**
 * `ChatDeepSeek` that sends the reasoning of earlier answers back.
 *
 * DeepSeek's thinking mode demands it (see the dialect), and `ChatDeepSeek` reads `reasoning_content` from an answer
 * but never sends it. Its converter passes unknown content blocks through, so the reasoning travels as such a block
 * from the message to the request, where it becomes the field that DeepSeek reads.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { copyMessage } from "../../history/copy-message.js";
import type { ModelFields } from "../model-providers.js";
import { REASONING_FIELD } from "../projection/pass-reasoning.js";

const CARRIER = "tether_reasoning";

export async function createDeepSeekModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatDeepSeek } = await import("@langchain/deepseek");

  class ReasoningChatDeepSeek extends ChatDeepSeek {
    override _generate(...[messages, ...rest]: Parameters<InstanceType<typeof ChatDeepSeek>["_generate"]>) {
      return super._generate(messages.map(carryReasoning), ...rest);
    }

    override _streamChatModelEvents(
      ...[messages, ...rest]: Parameters<InstanceType<typeof ChatDeepSeek>["_streamChatModelEvents"]>
    ) {
      return super._streamChatModelEvents(messages.map(carryReasoning), ...rest);
    }

    override _streamResponseChunks(
      ...[messages, ...rest]: Parameters<InstanceType<typeof ChatDeepSeek>["_streamResponseChunks"]>
    ) {
      return super._streamResponseChunks(messages.map(carryReasoning), ...rest);
    }

    // It has one signature for streams and one for whole answers; `never` fits both.
    override completionWithRetry(request: never, options?: never): never {
      return super.completionWithRetry(withReasoning(request), options) as never;
    }
  }

  return new ReasoningChatDeepSeek({
    ...fields,
    ...(baseURL !== undefined && { configuration: { baseURL } }),
  });
}

interface Carrier {
  readonly type: typeof CARRIER;
  readonly reasoning: string;
  /** The content, if it was a text. */
  readonly text: string | undefined;
}

/** Puts the reasoning before the content. */
function carryReasoning(message: BaseMessage): BaseMessage {
  const reasoning: unknown = message.additional_kwargs[REASONING_FIELD];
  if (!isAIMessage(message) || typeof reasoning !== "string") return message;
  const { content } = message;
  const isText = typeof content === "string";
  if (!isText && content.some(isCarrier)) return message;
  const carrier: Carrier = { type: CARRIER, reasoning, text: isText ? content : undefined };
  return copyMessage(message, { content: isText ? [{ ...carrier }] : [{ ...carrier }, ...content] });
}

function isCarrier(block: unknown): block is Carrier {
  return typeof block === "object" && block !== null && "type" in block && block.type === CARRIER;
}

function withReasoning<Request extends { readonly messages: readonly object[] }>(request: Request): Request {
  return { ...request, messages: request.messages.map(unpackReasoning) };
}

function unpackReasoning(message: object): object {
  if (!("content" in message) || !Array.isArray(message.content)) return message;
  const carrier = message.content.find(isCarrier);
  if (carrier === undefined) return message;
  const blocks = message.content.filter((block) => block !== carrier);
  return { ...message, content: carrier.text ?? blocks, [REASONING_FIELD]: carrier.reasoning };
}
