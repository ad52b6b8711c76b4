/**
 * Drops calls of tools that the provider runs if their result is missing, and results without their call.
 *
 * Both are blocks of one message, and Anthropic refuses one without the other. A result can be missing because the
 * response ended before it, or because LangChain's client does not know its type.
 */

import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import type { Step } from "./step.js";

export const pairServerTools: Step = () => (message) => {
  const { content } = message;
  if (!isAIMessage(message) || !Array.isArray(content)) return message;
  const called = idsOf(content, callIdOf);
  const answered = idsOf(content, answeredIdOf);
  if (called.size === 0 && answered.size === 0) return message;
  const paired = content.filter((block) => {
    const call = callIdOf(block);
    const answer = answeredIdOf(block);
    return (call === undefined || answered.has(call)) && (answer === undefined || called.has(answer));
  });
  return paired.length === content.length ? message : copyMessage(message, { content: paired });
};

function idsOf(
  blocks: readonly unknown[],
  read: (block: unknown) => string | undefined,
): ReadonlySet<string> {
  return new Set(blocks.flatMap((block) => read(block) ?? []));
}

function callIdOf(block: unknown): string | undefined {
  return isRecord(block) && block["type"] === "server_tool_use" ? String(block["id"]) : undefined;
}

/** A `tool_result` answers a call of the caller, and never stands in a message of the model. */
function answeredIdOf(block: unknown): string | undefined {
  if (!isRecord(block) || block["type"] === "tool_result") return undefined;
  const isAnswer = typeof block["type"] === "string" && block["type"].endsWith("_tool_result");
  return isAnswer ? String(block["tool_use_id"]) : undefined;
}
