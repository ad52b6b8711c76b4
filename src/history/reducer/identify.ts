import type { BaseMessage } from "@langchain/core/messages";
import { copyMessage } from "../messages/copy-message.js";
import { deriveUnusedId } from "../messages/message-id.js";
import type { Draft } from "./draft.js";

export function hasId(message: BaseMessage): message is BaseMessage & { id: string } {
  return typeof message.id === "string" && message.id !== "";
}

/**
 * Writes a derived id into the message itself, as LangGraph's own reducer does. Its users count on that: who
 * keeps a message and sends it again means the same message. A message that cannot be written to is copied.
 */
export function identify<T extends BaseMessage>(message: T, id: string): T {
  const lc_kwargs = { ...message.lc_kwargs, id };
  try {
    if (Reflect.set(message, "lc_kwargs", lc_kwargs) && Reflect.set(message, "id", id)) return message;
  } catch {
    // A setter threw.
  }
  const fields: Partial<BaseMessage> = { id };
  return copyMessage<BaseMessage>(message, fields) as T;
}

/**
 * Gives a message without an id one that is derived from its place. `ownId` is the id of the message that it
 * replaces, which is free again.
 */
export function withId<T extends BaseMessage>(draft: Draft, message: T, place: string, ownId?: string): T {
  if (hasId(message)) return message;
  const isTaken = (id: string) => id !== ownId && draft.has(id);
  return identify(message, deriveUnusedId(message, place, isTaken));
}
