/** The rules about content: its form, blocks and fields of other makers, pictures and files, prompt cache marks. */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { callBlockOf, isAIMessage } from "../../history/call.js";
import { contentText, copyMessage, mapBlocks, withTextFor } from "../../history/message.js";
import { listOf } from "../../history/read-messages.js";
import { isRecord } from "../../shared/values.js";
import { askedFor, isNotedOwn, mayHaveWritten, type Target } from "../contract/author.js";
import { type Block, type Dialect, type Fields, isOf, type MediaForm } from "../contract/dialect.js";
import { cacheMarksIn, unsentFields, withSentFields } from "../contract/text-fields.js";
import { isSendable, readMedia, sendableBlock } from "../media/media.js";
import { isForeignBlock, isLeftOut } from "../table/dialects.js";
import { BROKEN, blockType, type HistoryRule, type InputStep, inEach } from "./rule.js";
import { findBlankTexts, isBlankText, textOfBlock } from "./texts.js";

/** Fields of text blocks that the provider is known to refuse are left out. */
export const TEXT_FIELDS: HistoryRule = {
  name: "foreign-field",
  about: "content",
  meaning: "A text block has a field that the provider refuses.",
  find: inEach(({ content, message }, dialect) => {
    const names = listOf(content).flatMap((block) =>
      unsentFields(block, message, { dialect, modelId: undefined }),
    );
    return names[0] !== undefined && { name: names[0] };
  }),
  step: (target) => (message) => withSentFields(message, target),
};

/** Providers also count the tools' marks, which are not in a history. The input's last marks are sent. */
export const CACHE_MARKS: HistoryRule = {
  name: "cache-marks",
  about: "content",
  meaning: "More blocks have a mark for the prompt cache than the provider accepts.",
  find: (messages, { most }) => {
    const marks = messages.flatMap(({ message, index }) => cacheMarksIn(message).map(() => index));
    const index = marks[most?.marks ?? marks.length];
    return index === undefined ? [] : [{ index, name: String(marks.length) }];
  },
};

/*
 * What another provider made is replaced with a text, if it says something, and left out otherwise. The same holds for
 * blank texts that the provider refuses. Other blocks stay, also those that nobody knows. If the client accepts only
 * texts, a list is joined into one. An empty list becomes an empty text, because some clients lose the calls beside it.
 */

const cleanContent: InputStep = (target) => (given) => {
  const message = withMedia(given, target);
  const content = cleanedContent(message, target);
  return content === message.content ? message : copyMessage(message, { content });
};

export const CLEAN_BLOCKS: readonly HistoryRule[] = [
  {
    name: "content-form",
    about: "content",
    meaning: "The content is neither a text nor a list of blocks, or the client cannot send it in this form.",
    find: inEach(({ content, message, role }, dialect) => {
      const takesList = role === "system" || dialect.blocksIn.some((type) => type === message.type);
      return typeof content !== "string" && !(Array.isArray(content) && takesList) && BROKEN;
    }),
    step: cleanContent,
  },
  {
    name: "foreign-block",
    about: "content",
    meaning: "A content block has another provider's form.",
    find: inEach(({ content, message, role }, dialect) => {
      // What a model wrote is not a fault for the one that was asked. Who is asked now is not known here.
      if (!Array.isArray(content) || askedFor(message) !== undefined) return undefined;
      const form = formOf(message, dialect);
      const foreign = content.find((block) => {
        if (!isRecord(block) || block["type"] === "text") return !isRecord(block);
        if (role !== "assistant" && isOfResponse(block)) return true;
        if (role === "tool" && dialect.ignoredResults?.includes(blockType(block))) return false;
        if (readMedia(block) === undefined) return isForeignBlock(block, dialect);
        // Nobody knows what a host of many makers' models takes.
        return dialect.makers.length > 0 && (form === undefined || !isSendable(block, form));
      });
      return foreign !== undefined && { name: blockType(foreign) };
    }),
    step: cleanContent,
  },
  {
    name: "blank-text",
    about: "content",
    meaning: "A text, or a text block, is empty or blank.",
    find: findBlankTexts,
    step: cleanContent,
  },
];

function cleanedContent(message: BaseMessage, target: Target): MessageContent {
  const { dialect } = target;
  const content: unknown = message.content;
  if (
    isAIMessage(message) &&
    isNotedOwn(message, target) &&
    (takesBlocks(message, dialect) || typeof content === "string")
  )
    return ownContent(message, target);
  if (typeof content === "string")
    return dialect.rules["blank-text"] && dialect.blank.test(content) ? "" : content;
  if (!Array.isArray(content)) return "";
  if (!takesBlocks(message, dialect)) return contentText(message);
  const blocks = withTextFor(content, (block) => isTakenFrom(message, block, target));
  if (blocks.length === 0) return "";
  const results = message.type === "tool" ? dialect.media.results : undefined;
  if (results?.writeText !== undefined && blocks.some(isText) && blocks.some((block) => !isText(block))) {
    const { writeText } = results;
    return blocks.every((block) => isText(block) || isSendable(block, results))
      ? blocks.map((block) => (isText(block) ? writeText(textOfBlock(block) ?? "") : block))
      : blocks;
  }
  if (wantsText(blocks, dialect)) return contentText({ ...message, content: blocks } as BaseMessage);
  return blocks.every((block, index) => block === content[index]) && blocks.length === content.length
    ? content
    : blocks;
}

/** The content of whoever was asked for it is sent as it is. Only a blank text can be refused. */
function ownContent({ content }: AIMessage, { dialect }: Target): MessageContent {
  const isRefused = (block: unknown) =>
    dialect.rules["blank-text"] !== undefined && isBlankText(block, dialect);
  if (!Array.isArray(content)) return isRefused(content) ? "" : content;
  const left = content.some(isRefused) ? content.filter((block) => !isRefused(block)) : content;
  return left.length === 0 ? "" : left;
}

/**
 * A dialect that accepts lists from users gets them only for images and files, because some of its clients accept no
 * lists.
 */
function wantsText(blocks: readonly Block[], { blocksIn }: Dialect): boolean {
  return !blocksIn.includes("ai") && blocks.every(({ type }) => type === "text");
}

function takesBlocks({ type }: BaseMessage, { blocksIn }: Dialect): boolean {
  return blocksIn.some((taken) => taken === type || (taken === "human" && type === "system"));
}

function isTakenFrom(message: BaseMessage, block: unknown, target: Target): block is Block {
  const { dialect } = target;
  if (!isRecord(block)) return false;
  if (block["type"] === "text") return !dialect.rules["blank-text"] || !isBlankText(block, dialect);
  if (isAIMessage(message) && (!mayHaveWritten(message, target) || isLeftOut(block, dialect))) return false;
  if (!isAIMessage(message) && isOfResponse(block)) return false;
  const form = formOf(message, dialect);
  if (readMedia(block) !== undefined) return form !== undefined && isSendable(block, form);
  return !isForeignBlock(block, dialect);
}

/** The form of pictures and files in such a message. Undefined if it can have none. */
function formOf({ type }: BaseMessage, { media }: Dialect): MediaForm | undefined {
  if (type === "ai") return media.responses;
  return type === "human" ? media : type === "tool" ? media.results : undefined;
}

/*
 * Rewrites images, sounds and files from users, results and the model's own responses into the client's form.
 *
 * The history keeps them as the user's program wrote them: in LangChain's standard form, its older form, or a
 * provider's form. Clients read some forms of other providers, throw for some, and send some unchanged, which the
 * provider then rejects. A plain text file becomes that text, unless it is in the provider's own form. Media that the
 * provider does not accept stay unchanged. The next step replaces them with a text description.
 */

function withMedia(message: BaseMessage, target: Target): BaseMessage {
  const form =
    isAIMessage(message) && !mayHaveWritten(message, target) ? undefined : formOf(message, target.dialect);
  if (form === undefined) return message;
  return mapBlocks(message, (block) => (isText(block) ? block : (sendableBlock(block, form) ?? block)));
}

function isText(block: Block): boolean {
  return !isRecord(block) || block["type"] === "text";
}

const isReasoning = isOf("thinking", "redacted_thinking", "reasoning");

/** Whether only a response can have the block: a call, or a model's thoughts. */
function isOfResponse(block: Fields): boolean {
  return isReasoning(block) || callBlockOf(block) !== undefined;
}
