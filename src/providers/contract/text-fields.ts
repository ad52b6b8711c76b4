/** Text blocks' fields besides their text, and the prompt cache marks among them. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { mapBlocks } from "../../history/message.js";
import { isRecord, pickFields } from "../../shared/values.js";
import { mayHaveWritten, type Target } from "./author.js";
import type { Block } from "./dialect.js";

/*
 * Which fields are sent: all, but those that the provider is known to refuse, and those of another maker's response.
 */

/** The names of a text block's fields that are not sent to the target. */
export function unsentFields(block: unknown, message: BaseMessage, target: Target): string[] {
  if (!isRecord(block) || block["type"] !== "text") return [];
  const { isClosed = false, refusedFields = [] } = target.dialect;
  const sendsNone = isClosed || (isAIMessage(message) && !mayHaveWritten(message, target));
  return Object.keys(block).filter(
    (name) => name !== "type" && name !== "text" && (sendsNone || refusedFields.includes(name)),
  );
}

/** The same message if all fields are sent. */
export function withSentFields(message: BaseMessage, target: Target): BaseMessage {
  return mapBlocks(message, (block) => {
    const unsent = new Set(unsentFields(block, message, target));
    return unsent.size === 0 ? block : withFields(block, (name) => !unsent.has(name));
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
    return mapBlocks(message, (block) =>
      surplus.has(block) ? withFields(block, (name) => name !== MARK) : block,
    );
  });
  return kept.reverse().every((message, index) => message === messages[index]) ? messages : kept;
}

/** @param isKept Contract: keeps the type. */
const withFields = (block: Block, isKept: (name: string) => boolean) => pickFields(block, isKept) as Block;
