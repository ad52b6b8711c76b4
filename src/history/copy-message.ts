import type { BaseMessage } from "@langchain/core/messages";

/** The same message with other fields: a copy of the same class, so that the caller's object stays as it is. */
export function copyMessage<T extends BaseMessage>(message: T, fields: Partial<T>): T {
  const copy: T = Object.create(Object.getPrototypeOf(message));
  // Serialization reads `lc_kwargs`, not the fields.
  return Object.assign(copy, message, fields, { lc_kwargs: { ...message.lc_kwargs, ...fields } });
}
