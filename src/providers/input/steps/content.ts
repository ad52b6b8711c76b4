/** The steps that change what a message says. */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { isBlankMessage } from "../../../history/change-calls.js";
import { contentText, copyMessage, withTextFor, withWellFormedTexts } from "../../../history/message.js";
import { NO_OUTPUT } from "../../../history/result.js";
import { isRecord } from "../../../shared/values.js";
import { isBlank, isBlankText, isOfResponse, textOf } from "../../check/validate-history.js";
import {
  type Block,
  type Dialect,
  isNotedOwn,
  type MediaForm,
  mayHaveWritten,
  type Target,
} from "../../contract/rule.js";
import { withSentFields } from "../../contract/text-fields.js";
import {
  hasReasoningField,
  REASONING_FIELD,
  reasoningOf,
  withoutHostFields,
} from "../../host-fields/fields.js";
import { isSendable, readMedia, sendableBlock } from "../../media/media.js";
import { isForeignBlock, isLeftOut } from "../../table/dialects.js";
import type { Step } from "../step.js";

/*
 * Replaces lone surrogates, which appear when a program cuts a text in the middle of an emoji. JSON has no place for
 * them, so providers refuse the whole request, and each one after it.
 */

export const mendTexts: Step = () => withWellFormedTexts;

/*
 * Leaves out the fields of text blocks that the provider refuses.
 */

export const dropRefusedFields: Step = (target) => (message) => withSentFields(message, target);

/*
 * Replaces what another provider made with a text, if it says something, and leaves it out otherwise. The same holds for
 * blank texts that the provider refuses. Other blocks stay, also those that nobody knows. If the client accepts only
 * texts, a list is joined into one. An empty list becomes an empty text, because some clients lose the calls beside it.
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
  if (typeof content === "string")
    return dialect.rules["blank-text"] && dialect.blank.test(content) ? "" : content;
  if (!Array.isArray(content)) return "";
  if (!takesBlocks(message, dialect)) return contentText(message);
  const blocks = withTextFor(content, (block) => isTakenFrom(message, block, target));
  if (blocks.length === 0) return "";
  const results = message.type === "tool" ? dialect.media.results : undefined;
  const writeText = results?.writeText;
  if (writeText !== undefined && blocks.some(isText) && blocks.some((block) => !isText(block)))
    return blocks.every((block) => isText(block) || isSendable(block, results ?? dialect.media))
      ? blocks.map((block) => (isText(block) ? writeText(textOf(block) ?? "") : block))
      : blocks;
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

export const carryMedia: Step = (target) => (message) => {
  const { content } = message;
  const form =
    isAIMessage(message) && !mayHaveWritten(message, target) ? undefined : formOf(message, target.dialect);
  if (form === undefined || !Array.isArray(content)) return message;
  const blocks: MessageContent = content.map((block: Block) =>
    isText(block) ? block : (sendableBlock(block, form) ?? block),
  );
  return blocks.every((block, index) => block === content[index])
    ? message
    : copyMessage<BaseMessage>(message, { content: blocks });
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
  ({ dialect }) =>
  (message) => {
    const { type, content } = message;
    const { rules } = dialect;
    if (isAIMessage(message)) return rules["empty-assistant"] && isSilent(message) ? undefined : message;
    if (!isBlank(content, dialect)) return message;
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
