/**
 * Merges adjacent messages of the same role.
 *
 * Bedrock and many chat templates demand that user and assistant alternate. Gemini rejects a tool call after an
 * assistant text.
 */

import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { withTextFor } from "../../../history/messages/content-text.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { STATE_BLOCKS } from "../../dialects/dialects.js";
import type { Rules } from "../../dialects/rule.js";

/** Whether a message becomes one with the message before it. */
export function isMerged(
  { type }: BaseMessage,
  before: BaseMessage | undefined,
  { alternation }: Rules,
): boolean {
  return alternation !== undefined && (type === "human" || type === "ai") && before?.type === type;
}

/**
 * One message for adjacent ones of the same role. A message with calls is followed by its results, so only the last of
 * several assistant messages has calls.
 */
export function mergeRun(run: readonly BaseMessage[]): BaseMessage[] {
  const [first] = run;
  const last = run.at(-1);
  if (first === undefined || last === undefined || run.length === 1) return [...run];
  if (!isAIMessage(last)) return [copyMessage(first, { content: joinContents(run.map(contentOf)) })];
  // The state of earlier messages is dropped: they have no calls that need it, and another model may have
  // written it.
  const contents = run.map(({ content }, index) =>
    index === run.length - 1 ? content : withoutState(content),
  );
  return [copyMessage<BaseMessage>(last, { content: joinContents(contents) })];
}

function contentOf({ content }: BaseMessage): MessageContent {
  return content;
}

function withoutState(content: MessageContent): MessageContent {
  if (typeof content === "string") return content;
  const rest = withTextFor(content, (block) => !STATE_BLOCKS.has(block?.type));
  return rest.length === 0 ? "" : rest;
}

function joinContents(contents: readonly MessageContent[]): MessageContent {
  const parts = contents.filter((content) => content !== "");
  const firstList = parts.findIndex((content) => typeof content !== "string");
  const texts = firstList < 0 ? parts : parts.slice(0, firstList);
  const text = texts.join("\n\n");
  if (firstList < 0) return text;
  return [...(text === "" ? [] : toBlocks(text)), ...parts.slice(firstList).flatMap(toBlocks)];
}

function toBlocks(content: MessageContent): Exclude<MessageContent, string> {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
