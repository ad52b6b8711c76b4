/** The steps that change who speaks when. */

import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  type MessageContent,
  SystemMessage,
} from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { contentText, copyMessage, withTextFor } from "../../../history/message.js";
import { createSummaryNote } from "../../../history/summary.js";
import { STATE_BLOCKS } from "../../dialects.js";
import type { RuleName, Rules } from "../../rule.js";

/*
 * Merges adjacent messages of the same role.
 *
 * Bedrock and many chat templates demand that user and assistant alternate. Some providers reject a tool call after
 * an assistant text.
 */

/** Whether a message becomes one with the message before it. */
export function isMerged(
  { type }: BaseMessage,
  before: BaseMessage | undefined,
  { alternation }: Rules,
): boolean {
  return alternation !== undefined && (type === "human" || type === "ai") && before?.type === type;
}

/**
 * One message for adjacent ones. A message with calls is followed by its results, so only the last of
 * several assistant messages has calls.
 */
export function mergeRun(first: BaseMessage, others: readonly BaseMessage[]): BaseMessage {
  const last = others.at(-1);
  if (last === undefined) return first;
  const run = [first, ...others];
  if (!isAIMessage(last)) return copyMessage(first, { content: joinContents(run.map(contentOf)) });
  // The state of earlier messages is dropped: they have no calls that need it, and another model may have
  // written it.
  const contents = run.map(({ content }, index) =>
    index === run.length - 1 ? content : withoutState(content),
  );
  return copyMessage<BaseMessage>(last, { content: joinContents(contents) });
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

/*
 * Adds a short message where a provider demands one that is missing.
 *
 * Mistral does not accept a user message after a tool result. Claude 4.6 and Mistral do not accept an assistant
 * message at the end. Bedrock and GLM demand a user message first, and every provider demands at least one message.
 * Added user messages are marked, so that they are not taken for the user's own.
 */

const OPENING = "(The beginning of this conversation is not shown.)";
const AFTER_RESULTS = "I have the results.";
const CONTINUE = "Please continue.";

/** A message that is missing, and the rule that demands it. */
export interface Bridge {
  readonly message: BaseMessage;
  readonly rule: RuleName;
}

const NONE: readonly Bridge[] = [];

/**
 * The messages that must stand between two others, or before the first one.
 *
 * @param before The message before, without regard to system messages. Undefined if there is none.
 */
export function bridgesBefore(
  message: BaseMessage,
  before: BaseMessage | undefined,
  rules: Rules,
): readonly Bridge[] {
  if (message.type === "system") return NONE;
  if (before === undefined && message.type !== "human" && rules["first-user"] !== undefined)
    return [{ message: createSummaryNote(OPENING), rule: "first-user" }];
  if (before?.type === "tool" && message.type === "human" && rules["user-after-tool"] !== undefined)
    return [{ message: new AIMessage(AFTER_RESULTS), rule: "user-after-tool" }];
  return NONE;
}

/** The messages that must stand at the end. */
export function bridgesAfter(last: BaseMessage | undefined, rules: Rules): Bridge[] {
  if (last === undefined) return [{ message: createSummaryNote(OPENING), rule: "empty-history" }];
  return last.type === "ai" && rules["assistant-last"] !== undefined
    ? [{ message: createSummaryNote(CONTINUE), rule: "assistant-last" }]
    : [];
}

/*
 * Turns messages of custom or outdated roles into messages of the four common roles.
 *
 * Clients throw for `FunctionMessage`. Providers reject roles that they do not know, such as OpenAI's `developer`.
 */

/** The same array if all messages have a common role. */
export function plainRoles(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const plain = messages.map(plainRole);
  return plain.every((message, index) => message === messages[index]) ? messages : plain;
}

function plainRole(message: BaseMessage): BaseMessage {
  if (ChatMessage.isInstance(message)) return ofRole(message);
  if (!FunctionMessage.isInstance(message)) return message;
  const text = `The function ${message.name ?? ""} returned:\n${contentText(message)}`;
  return new HumanMessage(withId(message, text));
}

function ofRole(message: ChatMessage): BaseMessage {
  const fields = withId(message, message.content);
  if (message.role === "system" || message.role === "developer") return new SystemMessage(fields);
  if (message.role === "assistant" || message.role === "ai" || message.role === "model")
    return new AIMessage(fields);
  return new HumanMessage(fields);
}

function withId({ id }: BaseMessage, content: MessageContent): { content: MessageContent; id?: string } {
  return id === undefined ? { content } : { content, id };
}
