/**
 * Turns content into a text, or into a list of blocks that the provider accepts.
 *
 * Some providers reject blank text as a block, others as a message. A block that the provider does not know becomes a
 * text description if it says something, and is dropped otherwise. So does the result of a tool that the provider ran if
 * LangChain's client does not send it; the text then tells the call too. A list is joined into one text where the client
 * accepts nothing else. An empty list becomes an empty text, because some clients lose the calls beside an empty
 * list.
 */

import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { contentText, withTextFor } from "../../../history/messages/content-text.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import { MEDIA_FORMS } from "../../dialects/media/media-forms.js";
import type { Block } from "../../dialects/media/read-media.js";
import type { Dialect } from "../../dialects/rule.js";
import { blockType, textOf } from "../../dialects/validation/sent-message.js";
import type { Step, StepReason } from "./step.js";

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
  const blocks = withTextFor(content, (block) => isTakenFrom(message, block, dialect));
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

export const whyCleanContent: StepReason = ({ before, after }) => {
  const content: unknown = before.content;
  if (!Array.isArray(content)) {
    const text = "Its content says nothing, so an empty text takes its place.";
    return { code: "content-changed", text, rules: ["content-form", "blank-text"] };
  }
  const left = new Set<unknown>(Array.isArray(after?.content) ? after.content : []);
  const gone = content.filter((block: Block) => !left.has(block) && block?.type !== "text");
  const types = [...new Set(gone.map((block: Block) => String(block?.type)))].join(", ");
  if (types === "")
    return {
      code: "content-changed",
      text: "Its texts are sent as one text, without blank ones.",
      rules: ["content-form", "blank-text"],
    };
  return {
    code: "content-changed",
    text: `The provider or its client does not take these blocks here, so a text describes them if they say something: ${types}.`,
    rules: ["foreign-block", "content-form"],
  };
};
