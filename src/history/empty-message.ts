/**
 * Whether a response has anything anywhere. Clients put new kinds of content beside the text before anybody else knows
 * them: items, speech, calls in an old form. So whatever a client has stored counts, unless it is known to say nothing.
 */

import type { AIMessage } from "@langchain/core/messages";
import { isRecord } from "../shared/values.js";
import { callsOf } from "./call.js";
import { isMark } from "./marks.js";
import { MOST_LEVELS } from "./storable.js";

/** A message that has neither text nor calls, and nothing else that its client put anywhere. */
export function isEmptyMessage(message: AIMessage): boolean {
  return callsOf(message).length === 0 && !says(message.content) && !hasFields(message);
}

/** Whether a message has anything that is neither text nor reasoning. */
export function hasMoreThanText(message: AIMessage): boolean {
  const { content } = message;
  const blocks = Array.isArray(content) ? content.filter(({ type }) => type !== "text") : [];
  return says(blocks) || hasFields(message);
}

/**
 * Names of what is not said: reasoning in all its forms, what a provider has signed or encrypted, and what a client
 * notes about a response, such as its finish reason, its usage or `__openai_function_call_ids__`.
 */
const UNSAID = /^__|reason|think|thought|signature|encrypted|usage|logprobs/i;

/** Whether a client put something beside the content. */
function hasFields({ additional_kwargs: fields, response_metadata: metadata }: AIMessage): boolean {
  const { output } = Object(metadata);
  // The items of the Responses API. A stream has some of them nowhere else.
  if (Array.isArray(output) && says(output)) return true;
  // Anthropic's client puts the whole response there, without its content.
  if (!isRecord(fields) || typeof fields["role"] === "string") return false;
  // Google's and Cohere's clients put there what they also note about the response.
  const isNote = (name: string) => isMark(name) || UNSAID.test(name) || Object.hasOwn(Object(metadata), name);
  return Object.entries(fields).some(([name, value]) => !isNote(name) && says(value));
}

/** Numbers and flags say nothing. What is nested too deep to be stored counts, because nobody looks at it. */
function says(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value === "string") return value.trim() !== "";
  if (ArrayBuffer.isView(value)) return value.byteLength > 0;
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const saysPart = (part: unknown) => says(part, levels - 1);
  if (Array.isArray(value)) return value.some(saysPart);
  const { type, text, content, thought } = value as Readonly<Record<string, unknown>>;
  if (typeof type !== "string")
    return Object.entries(value).some(([name, part]) => !UNSAID.test(name) && saysPart(part));
  if (UNSAID.test(type) || thought === true) return false;
  if (type === "text" || type === "output_text") return saysPart(text);
  // An item of the Responses API, whose parts are text.
  if (type === "message") return saysPart(content);
  return true;
}
