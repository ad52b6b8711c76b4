import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/messages/call.js";
import { copyMessage } from "../../history/messages/copy-message.js";

/** A response with the name of its agent. Other messages, and responses with a name, stay the same. */
export function withName<Message extends BaseMessage>(message: Message, name: string | undefined): Message {
  if (name === undefined || !isAIMessage(message) || message.name !== undefined) return message;
  return copyMessage<BaseMessage>(message, { name }) as Message;
}
