/** Views of chat models and their clients: some members are replaced, all others are read from the object itself. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/**
 * Methods run on the view, so they see the replaced members. The object itself does not change. Do not use it for
 * classes with `#private` fields, which a view does not have. LangChain's clients have none.
 */
export function viewOf<T extends object>(target: T, members: object): T {
  const view: T = Object.create(target);
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(view, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return view;
}

/** The models inside a client, by field. `ChatOpenAI` has one for each of its protocols. */
export function partsOf(model: BaseChatModel): (readonly [field: string, part: BaseChatModel])[] {
  const parts: (readonly [string, BaseChatModel])[] = [];
  // Not `Object.entries`: some fields of a view are inherited from its model.
  for (const field in model) {
    const value: unknown = Reflect.get(model, field);
    if (isChatModel(value)) parts.push([field, value]);
  }
  return parts;
}

export function isChatModel(value: unknown): value is BaseChatModel {
  return (
    typeof value === "object" && value !== null && "_generate" in value && "_streamResponseChunks" in value
  );
}
