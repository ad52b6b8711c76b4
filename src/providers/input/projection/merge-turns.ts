/**
 * Merges adjacent messages of the same role.
 *
 * Bedrock and many chat templates demand that user and assistant alternate. Gemini rejects a tool call after an
 * assistant text.
 */

import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { STATE_BLOCKS } from "../../dialects/dialects.js";
import type { Step } from "./step.js";

export const mergeTurns: Step = (messages, { dialect }) => {
  if (dialect.rules.alternation === undefined) return messages;
  const merged: BaseMessage[] = [];
  for (const message of messages) {
    const before = merged.at(-1);
    const joint = before === undefined ? undefined : joined(before, message);
    if (joint === undefined) merged.push(message);
    else merged[merged.length - 1] = joint;
  }
  return merged.length === messages.length ? messages : merged;
};

/** A message with calls is followed by its results, so the first of two assistant messages has no calls. */
function joined(first: BaseMessage, second: BaseMessage): BaseMessage | undefined {
  if (first.type !== second.type || (second.type !== "human" && second.type !== "ai")) return undefined;
  if (!isAIMessage(second))
    return copyMessage(first, { content: joinContent(first.content, second.content) });
  // The first message's state is dropped: it has no calls that need it, and another model may have written it.
  const content = joinContent(withoutState(first.content), second.content);
  return copyMessage<BaseMessage>(second, { content });
}

function withoutState(content: MessageContent): MessageContent {
  if (typeof content === "string") return content;
  const rest = content.filter((block) => !STATE_BLOCKS.has(block?.type));
  return rest.length === 0 ? "" : rest;
}

function joinContent(first: MessageContent, second: MessageContent): MessageContent {
  if (first === "") return second;
  if (second === "") return first;
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [...toBlocks(first), ...toBlocks(second)];
}

function toBlocks(content: MessageContent): Exclude<MessageContent, string> {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
