/** Text blocks' fields besides their text, and the prompt cache marks among them. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { copyMessage } from "../../history/message.js";
import { isRecord, pickFields } from "../../shared/values.js";
import { type Block, type Fields, mayHaveWritten, type Target } from "./rule.js";

/*
 * Which fields are sent. A foreign field makes a provider refuse the request: OpenAI does not know `cache_control`, and
 * Anthropic does not know `annotations`.
 */

/** The fields of the message's text blocks that the target takes. */
export function fieldsTaken(message: BaseMessage, target: Target): readonly string[] | "all" {
  const { textFields, keepsOwnFields = false } = target.dialect;
  if (!isAIMessage(message)) return textFields;
  if (textFields !== "all" && !keepsOwnFields) return textFields;
  if (mayHaveWritten(message, target)) return "all";
  return textFields === "all" ? [] : textFields;
}

/** The names of a text block's fields that are not taken. */
export function foreignFields(block: unknown, taken: readonly string[]): string[] {
  if (!isRecord(block) || block["type"] !== "text") return [];
  return Object.keys(block).filter((name) => name !== "type" && name !== "text" && !taken.includes(name));
}

/** The same message if all fields are taken. */
export function withTakenFields(message: BaseMessage, target: Target): BaseMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const taken = fieldsTaken(message, target);
  if (taken === "all" || !content.some((block) => foreignFields(block, taken).length > 0)) return message;
  return withBlocks(message, (block) => {
    const foreign = new Set(foreignFields(block, taken));
    return foreign.size === 0 ? block : pickFields(block, (name) => !foreign.has(name));
  });
}

/*
 * Marks for a prompt cache.
 */

const MARK = "cache_control";

/** The blocks of the message that have a mark. */
export function cacheMarksIn({ content }: BaseMessage): readonly object[] {
  return Array.isArray(content) ? content.filter((block) => isRecord(block) && block[MARK]) : [];
}

export function countMarkedTools(tools: readonly unknown[]): number {
  return tools.filter((tool) => isRecord(tool) && [tool, tool["extras"]].some(hasMark)).length;
}

function hasMark(value: unknown): boolean {
  return isRecord(value) && Boolean(value[MARK]);
}

/** The messages with this many of their last marks. The same array if there are no more. */
export function withLastMarks(messages: readonly BaseMessage[], most: number): readonly BaseMessage[] {
  let left = Math.max(most, 0);
  const kept = messages.toReversed().map((message) => {
    const marks = cacheMarksIn(message);
    const surplus = new Set(marks.slice(0, Math.max(marks.length - left, 0)));
    left -= marks.length - surplus.size;
    if (surplus.size === 0) return message;
    return withBlocks(message, (block) =>
      surplus.has(block) ? pickFields(block, (name) => name !== MARK) : block,
    );
  });
  return kept.reverse().every((message, index) => message === messages[index]) ? messages : kept;
}

/** @param change Contract: returns the block with fewer fields. It keeps its type. */
function withBlocks(message: BaseMessage, change: (block: Fields) => Fields): BaseMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const blocks = content.map((block) => (isRecord(block) ? (change(block) as Block) : block));
  return copyMessage<BaseMessage>(message, { content: blocks });
}
