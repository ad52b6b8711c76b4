/** Ids that a new message of a thread cannot have. Providers, tools and caches repeat theirs. */

import type { BaseMessage } from "@langchain/core/messages";
import { copyMessage, deriveUnusedId } from "../message.js";
import { archivedIds } from "../summary.js";
import { hasMessage } from "./normalize-history.js";

/** Whether a message in the history has this id, or one that its summaries have archived. */
export function isIdTaken(history: readonly BaseMessage[], id: string): boolean {
  return hasMessage(history, id) || archivedIds(history).has(id);
}

/** The message with an unused id; the same one if its id is unused. */
export function withUnusedId<Message extends BaseMessage>(
  message: Message,
  history: readonly BaseMessage[],
): Message {
  const isTaken = (id: string) => isIdTaken(history, id);
  if (message.id !== undefined && !isTaken(message.id)) return message;
  const id = deriveUnusedId(message, history.at(-1)?.id ?? "", isTaken);
  return copyMessage<BaseMessage>(message, { id }) as Message;
}
