import type { AIMessage } from "@langchain/core/messages";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { serverItemsText } from "../../../history/messages/server-tools.js";
import type { StateField } from "../../dialects/rule.js";

/** The message without these fields. What tools of the provider returned in them is added to its content. */
export function withoutFields(message: AIMessage, fields: readonly StateField[]): AIMessage {
  if (fields.length === 0) return message;
  const { additional_kwargs, response_metadata } = message;
  const copies = { additional_kwargs: { ...additional_kwargs }, response_metadata: { ...response_metadata } };
  const texts = fields.map(({ place, name }) => serverItemsText(copies[place][name])).filter(Boolean);
  for (const { place, name } of fields) delete copies[place][name];
  // The items of a response stand in two fields.
  const text = texts[0] ?? "";
  if (text === "") return copyMessage(message, copies);
  const { content } = message;
  return copyMessage(message, {
    ...copies,
    content: Array.isArray(content)
      ? [{ type: "text", text }, ...content]
      : [text, content].filter(Boolean).join("\n"),
  });
}
