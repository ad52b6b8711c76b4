/** The steps that change what a message says. */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { isBlankMessage } from "../../../history/change-calls.js";
import { contentText, copyMessage, withTextFor, withWellFormedTexts } from "../../../history/message.js";
import { NO_OUTPUT } from "../../../history/result.js";
import { isRecord } from "../../../shared/values.js";
import { blockType, textOf } from "../../check/validate-history.js";
import {
  type Block,
  type Dialect,
  isNotedOwn,
  type MediaForm,
  mayHaveWritten,
  type Target,
} from "../../contract/rule.js";
import { withTakenFields } from "../../contract/text-fields.js";
import {
  hasReasoningField,
  REASONING_FIELD,
  reasoningOf,
  withoutHostFields,
} from "../../host-fields/fields.js";
import { isSendable, sendableBlock } from "../../media/media.js";
import type { Step } from "../step.js";

/*
 * Replaces lone surrogates, which appear when a program cuts a text in the middle of an emoji. JSON has no place for
 * them, so providers refuse the whole request, and each one after it.
 */

export const mendTexts: Step = () => withWellFormedTexts;

/*
 * Leaves out another provider's fields of text blocks.
 */

export const dropForeignFields: Step = (target) => (message) => withTakenFields(message, target);

/*
 * Turns content into a text, or into a list of blocks that the provider accepts.
 *
 * Some providers reject blank text as a block, others as a message. An unknown block becomes a text description if it
 * says something, and is otherwise dropped. The same holds for a provider-run tool's result that LangChain's client
 * does not send; its text then also tells the call. If the client accepts nothing else, a list is joined into one text.
 * An empty list becomes an empty text, because some clients lose the calls beside an empty list.
 */

export const cleanContent: Step = (target) => (message) => {
  const content = cleanedContent(message, target);
  return content === message.content ? message : copyMessage(message, { content });
};

function cleanedContent(message: BaseMessage, target: Target): MessageContent {
  const { dialect } = target;
  const content: unknown = message.content;
  if (
    isAIMessage(message) &&
    isNotedOwn(message, target) &&
    (takesBlocks(message, dialect) || typeof content === "string")
  )
    return ownContent(message, target);
  if (typeof content === "string") return content.trim() === "" ? "" : content;
  if (!Array.isArray(content)) return "";
  if (!takesBlocks(message, dialect)) return contentText(message).trim() === "" ? "" : contentText(message);
  const blocks = withTextFor(content, (block) => isTakenFrom(message, block, target));
  if (blocks.length === 0) return "";
  const writeText = message.type === "tool" ? dialect.media.results?.writeText : undefined;
  if (writeText !== undefined && blocks.some(({ type }) => type !== "text") && blocks.some(isText))
    return blocks.map((block) => (isText(block) ? writeText(textOf(block) ?? "") : block));
  if (wantsText(blocks, dialect)) return contentText({ ...message, content: blocks } as BaseMessage);
  return blocks.every((block, index) => block === content[index]) && blocks.length === content.length
    ? content
    : blocks;
}

/** The content of whoever was asked for it is sent as it is. Only a blank text can be refused. */
function ownContent({ content }: AIMessage, { dialect: { rules } }: Target): MessageContent {
  const isRefused = (block: unknown) => rules["blank-text"] !== undefined && textOf(block)?.trim() === "";
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
  const { type } = message;
  if (!isRecord(block)) return false;
  if (block["type"] === "text") return textOf(block)?.trim() !== "";
  if (type === "system") return false;
  if (type !== "ai") {
    const form = type === "tool" ? dialect.media.results : dialect.media;
    return form !== undefined && isSendable(block, form);
  }
  const { assistantBlocks } = dialect;
  if (assistantBlocks === "all") return isAIMessage(message) && mayHaveWritten(message, target);
  return assistantBlocks.includes(blockType(block));
}

/*
 * Rewrites images, sounds and files from users, results and the model's own responses into the client's form.
 *
 * The history keeps them as the user's program wrote them: in LangChain's standard form, its older form, or a
 * provider's form. Clients read some forms of other providers, throw for some, and send some unchanged, which the
 * provider then rejects. A plain text file becomes that text, unless it is in the provider's own form. Media that the
 * provider does not accept stay unchanged. The next step replaces them with a text description.
 */

export const carryMedia: Step = (target) => {
  const { media } = target.dialect;
  const formIn = (message: BaseMessage): MediaForm | undefined => {
    if (isAIMessage(message)) return mayHaveWritten(message, target) ? media.responses : undefined;
    return message.type === "human" ? media : message.type === "tool" ? media.results : undefined;
  };
  return (message) => {
    const { content } = message;
    const form = formIn(message);
    if (form === undefined || !Array.isArray(content)) return message;
    const blocks: MessageContent = content.map((block: Block) =>
      isText(block) ? block : (sendableBlock(block, form) ?? block),
    );
    return blocks.every((block, index) => block === content[index])
      ? message
      : copyMessage<BaseMessage>(message, { content: blocks });
  };
};

function isText(block: Block): boolean {
  return !isRecord(block) || block["type"] === "text";
}

/*
 * Drops or fills messages that say nothing.
 *
 * Some providers reject an assistant message with neither text nor calls, so it is dropped there. A blank system
 * message is also dropped. A user message or a tool result has its place in the turn and must stay. It gets a short
 * text if the provider demands one.
 */

const EMPTY_MESSAGE = "(empty message)";

export const fillBlanks: Step =
  ({ dialect: { rules } }) =>
  (message) => {
    const { type, content } = message;
    if (isAIMessage(message)) return rules["empty-assistant"] && isSilent(message) ? undefined : message;
    // At this step, blank content is already an empty text.
    if (content !== "") return message;
    if (type === "system") return undefined;
    const isTold = type === "tool" ? rules["blank-result"] : type === "human" && rules["blank-user"];
    return isTold ? copyMessage(message, { content: type === "tool" ? NO_OUTPUT : EMPTY_MESSAGE }) : message;
  };

function isSilent(message: AIMessage): boolean {
  return !message.tool_calls?.length && isBlankMessage(message);
}

/** Whether a response now says nothing, because all of it was for another model. */
export function isEmptied(before: BaseMessage, after: BaseMessage): boolean {
  if (before === after || !isAIMessage(after) || !isAIMessage(before) || !isSilent(after)) return false;
  return !isSilent(before) || (Array.isArray(before.content) && before.content.length > 0);
}

/*
 * Keeps what the target's host put into its own model's messages, and removes it elsewhere. Its client decides what is
 * sent: see `host-fields`.
 *
 * DeepSeek's thinking mode demands earlier responses' reasoning. It accepts empty reasoning if it is lost, or if
 * another model wrote the message. Without thinking it ignores the field.
 */

export const passFields: Step = (target) => {
  const { rules, hasHostFields } = target.dialect;
  const isDemanded = rules["missing-reasoning"] !== undefined;
  return (message) => {
    if (!isAIMessage(message)) return message;
    const isOwn = mayHaveWritten(message, target);
    const own =
      (isOwn && hasHostFields) || isNotedOwn(message, target)
        ? message
        : withoutHostFields(message, isDemanded ? [REASONING_FIELD] : []);
    const reasoning = (isOwn && reasoningOf(message)) || "";
    const isGiven = hasReasoningField(own) && own.additional_kwargs[REASONING_FIELD] === reasoning;
    if (!isDemanded || isGiven) return own;
    return copyMessage(own, {
      additional_kwargs: { ...own.additional_kwargs, [REASONING_FIELD]: reasoning },
    });
  };
};
