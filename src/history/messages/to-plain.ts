import type { BaseMessage } from "@langchain/core/messages";

/** A message as a plain object that can be sent as JSON. */
export function toPlain(message: BaseMessage): Record<string, unknown> & { type: string } {
  return { ...message.toDict().data, type: message.type };
}
