import type { BaseMessage } from "@langchain/core/messages";

/** A message as a plain object, which goes over the wire. */
export function toPlain(message: BaseMessage): Record<string, unknown> & { type: string } {
  return { ...message.toDict().data, type: message.type };
}
