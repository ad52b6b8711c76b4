import type { AIMessage } from "@langchain/core/messages";
import { copyMessage } from "../../../history/messages/copy-message.js";
import type { StateField } from "../../dialects/rule.js";

/** The message without these fields. */
export function withoutFields(message: AIMessage, fields: readonly StateField[]): AIMessage {
  if (fields.length === 0) return message;
  const { additional_kwargs, response_metadata } = message;
  const copies = { additional_kwargs: { ...additional_kwargs }, response_metadata: { ...response_metadata } };
  for (const { place, name } of fields) delete copies[place][name];
  return copyMessage(message, copies);
}
