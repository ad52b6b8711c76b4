/**
 * Thought signatures, as `ChatGoogle` stores them: on the entries of `tool_calls`, on blocks of the content, and for a
 * plain text in a field of its own. Only Gemini can read them.
 */

import type { AIMessage } from "@langchain/core/messages";
import { copyMessage } from "../../history/messages/copy-message.js";
import { isRecord } from "../../shared/is-record.js";

/** The field of `additional_kwargs` with the block of a plain text. */
export const ORIGINAL_TEXT = "originalTextContentBlock";

const SIGNATURE = "thoughtSignature";

export function signatureOf(value: unknown): string | undefined {
  const signature = isRecord(value) ? value[SIGNATURE] : undefined;
  return typeof signature === "string" ? signature : undefined;
}

/** The message without signatures, and without the thoughts that Gemini's client stores as text. */
export function withoutSignatures(message: AIMessage): AIMessage {
  const { content, tool_calls = [] } = message;
  const blocks = Array.isArray(content) ? content : [];
  const isThought = (block: unknown) => isRecord(block) && block["thought"] === true;
  const hasState = (value: unknown) => signatureOf(value) !== undefined || isThought(value);
  if (!tool_calls.some(hasState) && !blocks.some(hasState)) return message;
  return copyMessage(message, {
    tool_calls: tool_calls.map(unsigned),
    ...(Array.isArray(content) && { content: content.filter((block) => !isThought(block)).map(unsigned) }),
  });
}

function unsigned<Value extends object>(value: Value): Value {
  if (!(SIGNATURE in value)) return value;
  const { [SIGNATURE]: _, ...rest } = value;
  return rest as Value;
}
