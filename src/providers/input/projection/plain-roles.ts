/**
 * Turns messages of custom or outdated roles into messages of the four common roles.
 *
 * Clients throw for `FunctionMessage`. Providers reject roles that they do not know, such as OpenAI's `developer`.
 */

import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  type MessageContent,
  SystemMessage,
} from "@langchain/core/messages";
import { contentText } from "../../../history/messages/content-text.js";
import { mapMessages } from "./map-messages.js";

export function plainRoles(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  return mapMessages(messages, (message) => {
    if (ChatMessage.isInstance(message)) return ofRole(message);
    if (FunctionMessage.isInstance(message))
      return new HumanMessage(
        withId(message, `The function ${message.name ?? ""} returned:\n${contentText(message)}`),
      );
    return message;
  });
}

function ofRole(message: ChatMessage): BaseMessage {
  const fields = withId(message, message.content);
  if (message.role === "system" || message.role === "developer") return new SystemMessage(fields);
  if (message.role === "assistant" || message.role === "ai" || message.role === "model")
    return new AIMessage(fields);
  return new HumanMessage(fields);
}

function withId({ id }: BaseMessage, content: MessageContent): { content: MessageContent; id?: string } {
  return id === undefined ? { content } : { content, id };
}
