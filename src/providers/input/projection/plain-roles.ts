/**
 * Messages of free or outdated roles become messages of the four that every provider has.
 *
 * Clients throw for `FunctionMessage`, and providers refuse roles that they do not know, OpenAI's `developer` among
 * them.
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
import { contentText } from "../../../history/content-text.js";
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
