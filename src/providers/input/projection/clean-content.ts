/**
 * Turns content into a text, or into a list of blocks that the provider accepts.
 *
 * Some providers reject blank text as a block, others as a message. A block that the provider does not know becomes a
 * text description if it says something, and is dropped otherwise. A list is joined into one text where the client
 * accepts nothing else. An empty list becomes an empty text, because some clients lose the calls beside an empty
 * list.
 */

import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { contentText } from "../../../history/messages/content-text.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import { MEDIA_FORMS } from "../../dialects/media/media-forms.js";
import type { Block } from "../../dialects/media/read-media.js";
import type { Dialect } from "../../dialects/rule.js";
import { blockType, textOf } from "../../dialects/validation/sent-message.js";
import type { Step } from "./step.js";

export const cleanContent: Step =
  ({ dialect }) =>
  (message) => {
    const content = cleanedContent(message, dialect);
    return content === message.content ? message : copyMessage(message, { content });
  };

function cleanedContent(message: BaseMessage, dialect: Dialect): MessageContent {
  const content: unknown = message.content;
  if (typeof content === "string") return content === "" || content.trim() !== "" ? content : "";
  if (!Array.isArray(content)) return "";
  if (!takesBlocks(message, dialect)) return contentText(message).trim() === "" ? "" : contentText(message);
  const isTaken = (block: Block): boolean => isTakenFrom(message, block, dialect);
  const blocks = content.flatMap((block: Block) => (isTaken(block) ? [block] : textBlock(block)));
  if (blocks.length === 0) return "";
  if (wantsText(blocks, dialect)) return contentText({ ...message, content: blocks } as BaseMessage);
  return blocks.every((block, index) => block === content[index]) && blocks.length === content.length
    ? content
    : blocks;
}

/**
 * A dialect that accepts lists from users is only sent them for images and files: some of its clients accept no
 * lists.
 */
function wantsText(blocks: readonly Block[], { blocksIn }: Dialect): boolean {
  return !blocksIn.includes("ai") && blocks.every(({ type }) => type === "text");
}

function takesBlocks({ type }: BaseMessage, { blocksIn }: Dialect): boolean {
  return blocksIn.some((taken) => taken === type || (taken === "human" && type === "system"));
}

function isTakenFrom({ type }: BaseMessage, block: unknown, dialect: Dialect): block is Block {
  if (!isRecord(block)) return false;
  if (block["type"] === "text") return textOf(block)?.trim() !== "";
  if (type === "system") return false;
  if (type !== "ai") return MEDIA_FORMS[dialect.media].takes(block);
  return dialect.assistantBlocks.includes(blockType(block));
}

function textBlock(block: Block): Block[] {
  const text = contentText({ content: [block] } as BaseMessage);
  return text.trim() === "" ? [] : [{ type: "text", text }];
}
