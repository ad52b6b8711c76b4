/** Removes calls from an AI message, everywhere they are written. */

import type { AIMessage } from "@langchain/core/messages";
import { callBlockOf, callsOf } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";

/**
 * Blocks of the model's own reasoning. They are not content for a reader, and can be bound to the calls in
 * their message.
 */
const REASONING_BLOCKS: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "reasoning"]);
const SIGNATURE_FIELDS = ["signature", "thoughtSignature", "encrypted_content"];

/**
 * A copy without the calls that `isDropped` selects by their index in `callsOf(message)`. If no call is left,
 * signed reasoning is removed too: providers refuse it without the calls that it led to.
 */
export function withoutCalls(message: AIMessage, isDropped: (index: number) => boolean): AIMessage {
  const calls = callsOf(message);
  const isKept = keptByOccurrence(
    calls.map(({ id }) => id),
    isDropped,
  );
  const keepEntries = <T>(entries: readonly T[], idOf: (entry: T) => unknown, place: string): T[] =>
    entries.filter((entry) => isKept(place, idOf(entry)));

  const toolCalls = keepEntries(message.tool_calls ?? [], ({ id }) => id, "listed");
  const invalidCalls = keepEntries(message.invalid_tool_calls ?? [], ({ id }) => id, "listed");
  const dropsReasoning = calls.every((_, index) => isDropped(index)) && hasSignedReasoning(message);
  const content = Array.isArray(message.content)
    ? message.content.filter((block) => {
        if (dropsReasoning && REASONING_BLOCKS.has(block.type)) return false;
        const call = callBlockOf(block);
        return call === undefined || isKept("content", call.id);
      })
    : message.content;

  const { tool_calls: rawCalls, reasoning, ...rest } = message.additional_kwargs;
  const keptRaw = keepEntries(rawCalls ?? [], ({ id }) => id, "raw");
  const additional_kwargs = {
    ...rest,
    ...(keptRaw.length > 0 && { tool_calls: keptRaw }),
    ...(reasoning !== undefined && !dropsReasoning && { reasoning }),
  };
  return copyMessage(message, {
    tool_calls: toolCalls,
    invalid_tool_calls: invalidCalls,
    content,
    additional_kwargs,
  });
}

export function hasSignedReasoning(message: AIMessage | { readonly content: unknown }): boolean {
  if ("additional_kwargs" in message && message.additional_kwargs["reasoning"] !== undefined) return true;
  const { content } = message;
  return (
    Array.isArray(content) &&
    content.some((block) => SIGNATURE_FIELDS.some((field) => block?.[field] !== undefined))
  );
}

/** Whether a message says nothing: it has no text and no picture, only white space, reasoning and calls. */
export function isBlankMessage({ content }: AIMessage): boolean {
  if (typeof content === "string") return content.trim() === "";
  return content.every((block) => {
    if (block.type === "text") return typeof block["text"] !== "string" || block["text"].trim() === "";
    return REASONING_BLOCKS.has(block.type) || callBlockOf(block) !== undefined;
  });
}

/**
 * The same call can be written in several places. In each place, the n-th entry with an id is the n-th call
 * with that id.
 */
function keptByOccurrence(
  ids: readonly string[],
  isDropped: (index: number) => boolean,
): (place: string, id: unknown) => boolean {
  const indexes = new Map<string, number[]>();
  for (const [index, id] of ids.entries()) {
    const sameId = indexes.get(id);
    if (sameId === undefined) indexes.set(id, [index]);
    else sameId.push(index);
  }
  const seen = new Map<string, number>();
  return (place, id) => {
    const key = typeof id === "string" ? id : "";
    const occurrence = seen.get(`${place}:${key}`) ?? 0;
    seen.set(`${place}:${key}`, occurrence + 1);
    const index = indexes.get(key)?.[occurrence];
    return index === undefined || !isDropped(index);
  };
}
