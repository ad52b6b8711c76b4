import type { BaseMessage } from "@langchain/core/messages";

/** A copy of the message, of the same class, with some fields replaced. The original is not changed. */
export function copyMessage<T extends BaseMessage>(message: T, fields: Partial<T>): T {
  const copy: T = Object.create(Object.getPrototypeOf(message));
  // Serialization reads `lc_kwargs`, not the fields.
  return Object.assign(copy, message, fields, { lc_kwargs: { ...message.lc_kwargs, ...fields } });
}
