/** The steps that change what a message says. */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { isBlankMessage } from "../../../history/change-calls.js";
import { contentText, copyMessage, withTextFor, withWellFormedTexts } from "../../../history/message.js";
import { NO_OUTPUT } from "../../../history/result.js";
import { serverCallId, serverResultId } from "../../../history/server-tools.js";
import { isRecord } from "../../../shared/values.js";
import { REASONING_FIELD, reasoningOf } from "../../deepseek/dialect.js";
import { readMedia } from "../../media.js";
import { type Block, type Dialect, type MediaForm, mayHaveWritten, type Target } from "../../rule.js";
import { withTakenFields } from "../../text-fields.js";
import { blockType, textOf } from "../../validate-history.js";
import type { Step } from "../step.js";

/*
 * Replaces each half of a surrogate pair. A program leaves one when it cuts a text in the middle of an emoji. JSON has no
 * place for it, so providers refuse the complete request, and each one after it.
 */

export const mendTexts: Step = () => withWellFormedTexts;

/*
 * Leaves out fields of text blocks that belong to another provider.
 */

export const dropForeignFields: Step = (target) => (message) => withTakenFields(message, target);

/*
 * Turns content into a text, or into a list of blocks that the provider accepts.
 *
 * Some providers reject blank text as a block, others as a message. A block that the provider does not know becomes a
 * text description if it says something, and is dropped otherwise. So does the result of a tool that the provider ran if
 * LangChain's client does not send it; the text then tells the call too. A call of such a tool is dropped if its result
 * is missing, because the response ended before it: Anthropic refuses one without the other. A list is joined into one
 * text where the client accepts nothing else. An empty list becomes an empty text, because some clients lose the calls
 * beside an empty list.
 */

export const cleanContent: Step = (target) => (message) => {
  const content = cleanedContent(message, target);
  return content === message.content ? message : copyMessage(message, { content });
};

function cleanedContent(message: BaseMessage, target: Target): MessageContent {
  const { dialect } = target;
  const content: unknown = message.content;
  if (typeof content === "string") return content.trim() === "" ? "" : content;
  if (!Array.isArray(content)) return "";
  if (!takesBlocks(message, dialect)) return contentText(message).trim() === "" ? "" : contentText(message);
  const isPaired = pairingIn(isAIMessage(message) ? content : []);
  const blocks = withTextFor(content, (block) => isTakenFrom(message, block, target) && isPaired(block));
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

function isTakenFrom(message: BaseMessage, block: unknown, target: Target): block is Block {
  const { dialect } = target;
  const { type } = message;
  if (!isRecord(block)) return false;
  if (block["type"] === "text") return textOf(block)?.trim() !== "";
  if (type === "system") return false;
  if (type !== "ai") return dialect.media.takes(block);
  const { assistantBlocks } = dialect;
  if (assistantBlocks === "all") return isAIMessage(message) && mayHaveWritten(message, target);
  return assistantBlocks.includes(blockType(block));
}

/** Whether a block is not half of a pair: the call of a tool that the provider runs, or its result. */
function pairingIn(content: readonly unknown[]): (block: unknown) => boolean {
  const called = new Set(content.map(serverCallId));
  const answered = new Set(content.map(serverResultId));
  return (block) => {
    const call = serverCallId(block);
    const answer = serverResultId(block);
    return (call === undefined || answered.has(call)) && (answer === undefined || called.has(answer));
  };
}

/*
 * Rewrites a user's images, sounds and files into the form that the client accepts.
 *
 * The history keeps them as the user's program wrote them: in LangChain's standard form, in its older form, or in a
 * provider's form. Clients read some forms of other providers, throw for some, and send some unchanged, which the
 * provider then rejects. A file of plain text becomes that text, unless it is in the provider's own form. Media that
 * the provider does not accept stay unchanged. The next step replaces them by a text description.
 */

export const carryMedia: Step = ({ dialect }) => {
  const form = dialect.media;
  const isCarrier = ({ type }: BaseMessage) => type === "human" || (type === "tool" && form.isInResults);
  return (message) => {
    const { content } = message;
    if (!isCarrier(message) || !Array.isArray(content)) return message;
    const blocks: MessageContent = content.map((block: Block) => carried(block, form));
    return blocks.every((block, index) => block === content[index])
      ? message
      : copyMessage<BaseMessage>(message, { content: blocks });
  };
};

function carried(block: Block, form: MediaForm): Block {
  if (!isRecord(block) || block["type"] === "text" || form.takes(block)) return block;
  const media = readMedia(block);
  if (media === undefined) return block;
  return (media.kind === "text" ? { type: "text", text: media.text } : form.write(media)) ?? block;
}

/*
 * Drops or fills messages that say nothing.
 *
 * Some providers reject an assistant message with neither text nor calls, so it is dropped there. A blank system message
 * is dropped too. A user message or a tool result has its place in the turn and must stay. It gets a short text where
 * the provider demands one.
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

/** Whether a response says nothing any more, because all of it was for another model. */
export function isEmptied(before: BaseMessage, after: BaseMessage): boolean {
  if (before === after || !isAIMessage(after) || !isAIMessage(before) || !isSilent(after)) return false;
  return !isSilent(before) || (Array.isArray(before.content) && before.content.length > 0);
}

/*
 * Gives each assistant message reasoning, possibly empty, where the provider demands it. Removes it elsewhere.
 *
 * DeepSeek's thinking mode demands the reasoning of earlier responses. It accepts empty reasoning where it is lost,
 * or where another model wrote the message. Without thinking it ignores the field. A host that only has OpenAI's protocol
 * gets what its model wrote. Its client decides whether the field is sent: see `deepseek/client.ts`.
 */

export const passReasoning: Step = (target) => {
  const { rules, stateFields } = target.dialect;
  const isDemanded = rules["missing-reasoning"] !== undefined;
  const isTaken = stateFields.some(({ name }) => name === REASONING_FIELD);
  return (message) => {
    if (!isAIMessage(message)) return message;
    const { [REASONING_FIELD]: written, ...others } = message.additional_kwargs ?? {};
    const own = mayHaveWritten(message, target) ? reasoningOf(message) || undefined : undefined;
    const sent = isDemanded ? (own ?? "") : isTaken ? own : undefined;
    if (written === sent) return message;
    const additional_kwargs = sent === undefined ? others : { ...others, [REASONING_FIELD]: sent };
    return copyMessage(message, { additional_kwargs });
  };
};
