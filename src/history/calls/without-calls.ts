/** Removes calls from an AI message, everywhere they are written. */

import type { AIMessage } from "@langchain/core/messages";
import { callBlockOf, callsOf, indexesById } from "../messages/call.js";
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
  /** Decides about the entries of one place. Each belongs to the next call with its id. */
  const createFilter = (keepsOthers = true) => {
    const indexes = indexesById(calls);
    return ({ id }: { readonly id?: string | undefined }): boolean => {
      const index = indexes.get(id ?? "")?.pop();
      return index === undefined ? keepsOthers : !isDropped(index);
    };
  };
  const isListed = createFilter();
  const isInContent = createFilter();
  const dropsReasoning = calls.every((_, index) => isDropped(index)) && hasSignedReasoning(message);
  const content = Array.isArray(message.content)
    ? message.content.filter((block) => {
        if (dropsReasoning && REASONING_BLOCKS.has(block.type)) return false;
        const call = callBlockOf(block);
        return call === undefined || isInContent(call);
      })
    : message.content;

  const { tool_calls: rawCalls, reasoning, ...rest } = message.additional_kwargs;
  // An entry that is no call of the message would be one if `tool_calls` became empty.
  const keptRaw = (rawCalls ?? []).filter(createFilter(false));
  const additional_kwargs = {
    ...rest,
    ...(keptRaw.length > 0 && { tool_calls: keptRaw }),
    ...(reasoning !== undefined && !dropsReasoning && { reasoning }),
  };
  return copyMessage(message, {
    tool_calls: (message.tool_calls ?? []).filter(isListed),
    invalid_tool_calls: (message.invalid_tool_calls ?? []).filter(isListed),
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
