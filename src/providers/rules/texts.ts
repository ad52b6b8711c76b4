/** The rules about what a message says: its texts, and that it says anything at all. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { isBlankMessage } from "../../history/change-calls.js";
import { copyMessage, withWellFormedTexts } from "../../history/message.js";
import { listOf } from "../../history/read-messages.js";
import { NO_OUTPUT } from "../../history/result.js";
import { serverCallId } from "../../history/server-tools.js";
import { isRecord } from "../../shared/values.js";
import type { Dialect } from "../contract/dialect.js";
import { BROKEN, type HistoryRule, type InputStep, inEach, KNOWN_ROLES } from "./rule.js";

/** Lone surrogates appear when a program cuts a text in the middle of an emoji. JSON has no place for them. */
export const WHOLE_TEXTS: HistoryRule = {
  name: "unpaired-surrogate",
  about: "content",
  meaning: "A text has half of a surrogate pair, as after a cut in the middle of an emoji.",
  find: inEach(({ message }) => withWellFormedTexts(message) !== message && BROKEN),
  step: () => withWellFormedTexts,
};

/*
 * Messages that say nothing.
 *
 * Some providers reject an assistant message with neither text nor calls, so it is dropped there. A blank system
 * message is also dropped. A user message or a tool result has its place in the turn and must stay. It gets a short
 * text if the provider demands one.
 */

const EMPTY_MESSAGE = "(empty message)";

const fillBlanks: InputStep =
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

export const FILLED_MESSAGES: readonly HistoryRule[] = [
  filled("empty-assistant", "assistant", "An assistant message has neither text nor calls."),
  filled("blank-user", "user", "A user message says nothing."),
  filled("blank-result", "tool", "A result says nothing."),
];

function filled(name: HistoryRule["name"], saidBy: string, meaning: string): HistoryRule {
  return {
    name,
    about: "content",
    meaning,
    find: inEach(
      ({ role, content, calls }, dialect) =>
        role === saidBy && calls.length === 0 && isBlank(content, dialect) && BROKEN,
    ),
    step: fillBlanks,
  };
}

function isSilent(message: AIMessage): boolean {
  return !message.tool_calls?.length && isBlankMessage(message);
}

/** Whether a response now says nothing, because all of it was for another model. */
export function isEmptied(before: BaseMessage, after: BaseMessage): boolean {
  if (before === after || !isAIMessage(after) || !isAIMessage(before) || !isSilent(after)) return false;
  return !isSilent(before) || (Array.isArray(before.content) && before.content.length > 0);
}

/** A blank text beside others. What says nothing at all has a rule of its own, apart from a system message. */
export const findBlankTexts = inEach(({ role, content, calls }, dialect) => {
  const saysNothing = isBlank(content, dialect) && calls.length === 0;
  if (saysNothing && role === "system") return BROKEN;
  // An empty string is no text beside calls, or in a role that nobody knows.
  if (content === "" || (saysNothing && KNOWN_ROLES.has(role))) return undefined;
  // Anthropic takes back what a model wrote between the calls of its own tools.
  if (role === "assistant" && listOf(content).some((block) => serverCallId(block) !== undefined))
    return undefined;
  return listOf(content).some((block) => isBlankText(block, dialect)) && BROKEN;
});

/** The text of a string or of a text block. Undefined for anything else. */
export function textOfBlock(block: unknown): string | undefined {
  if (typeof block === "string") return block;
  if (!isRecord(block) || block["type"] !== "text") return undefined;
  return typeof block["text"] === "string" ? block["text"] : "";
}

/** Whether a block is a text that says nothing. A signature in it is something. */
export function isBlankText(block: unknown, { blank, media: { responses } }: Dialect): boolean {
  const text = textOfBlock(block);
  if (text === undefined || !blank.test(text)) return false;
  return !isRecord(block) || !responses?.keeps?.some((name) => name in block);
}

/** Whether the content says nothing: it is blank text, or has no blocks. */
export function isBlank(content: unknown, dialect: Dialect): boolean {
  const blocks = typeof content === "string" ? [content] : content;
  return Array.isArray(blocks) && blocks.every((block) => isBlankText(block, dialect));
}
