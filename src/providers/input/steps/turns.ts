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
import { MARKS } from "../../../history/marks.js";
import { contentText, copyMessage, madeOf } from "../../../history/message.js";
import { hasOpenServerCall } from "../../../history/server-tools.js";
import { createSummaryNote } from "../../../history/summary.js";
import { defined } from "../../../shared/values.js";
import { type Dialect, mayHaveWritten, type RuleName, type Rules, type Target } from "../../contract/rule.js";
import { saidBlocks } from "./own-state.js";

/*
 * Merges adjacent messages of the same role.
 *
 * Bedrock and many chat templates demand that user and assistant alternate. Some providers reject a tool call after an
 * assistant text.
 */

/** Whether a message and the one before it may become one. What follows them can decide it. */
export function mayMerge({ type }: BaseMessage, before: BaseMessage, rules: Rules): boolean {
  if (before.type !== type) return false;
  if (rules.alternation !== undefined) return type === "human" || type === "ai";
  return type === "ai" && rules["call-position"] !== undefined;
}

/** Whether mergeable messages are merged: for some providers, only before calls. */
export function isMerged(run: readonly BaseMessage[], rules: Rules): boolean {
  const last = run.at(-1);
  const hasCalls = last !== undefined && isAIMessage(last) && (last.tool_calls ?? []).length > 0;
  return rules.alternation !== undefined || hasCalls;
}

/**
 * One message for adjacent ones. Results follow a message with calls, so only the last of several assistant messages
 * has calls. What is left of another model's message is nobody's, so the last author who may be the target signs it.
 */
export function mergeRun(run: readonly [BaseMessage, ...BaseMessage[]], target: Target): BaseMessage {
  const [first] = run;
  const { blocksIn } = target.dialect;
  // A list keeps each text as it was written.
  const join = blocksIn.includes("ai") ? joinBlocks : joinContents;
  const last = run.at(-1) ?? first;
  if (run.length === 1) return first;
  if (!isAIMessage(last))
    return madeOf(copyMessage(first, { content: join(run.map(({ content }) => content)) }), run);
  // Earlier messages' state is dropped: they have no calls that need it, and another model may have written it.
  const contents = run.slice(0, -1).map(({ content }) => withoutState(content));
  const content = join([...contents, last.content]);
  const author = run.filter(isAIMessage).findLast((message) => mayHaveWritten(message, target)) ?? last;
  return madeOf(copyMessage<BaseMessage>(signedBy(author, last), { content }), run);
}

function signedBy(author: AIMessage, message: AIMessage): AIMessage {
  if (author === message) return message;
  const { [MARKS.asked]: _, ...rest } = message.additional_kwargs;
  const asked: unknown = author.additional_kwargs[MARKS.asked];
  return copyMessage(message, {
    response_metadata: author.response_metadata,
    additional_kwargs: { ...rest, ...defined({ [MARKS.asked]: asked }) },
  });
}

function withoutState(content: MessageContent): MessageContent {
  if (typeof content === "string") return content;
  const rest = saidBlocks(content);
  return rest.length === 0 ? "" : rest;
}

/** Texts are joined up to the first list. */
function joinContents(contents: readonly MessageContent[]): MessageContent {
  const parts = contents.filter((content) => content !== "");
  const firstList = parts.findIndex((content) => typeof content !== "string");
  if (firstList < 0) return parts.join("\n\n");
  const text = parts.slice(0, firstList).join("\n\n");
  return [text, ...parts.slice(firstList)].filter((part) => part !== "").flatMap(toBlocks);
}

function joinBlocks(contents: readonly MessageContent[]): MessageContent {
  const parts = contents.filter((content) => content !== "");
  return parts.length > 1 ? parts.flatMap(toBlocks) : (parts[0] ?? "");
}

function toBlocks(content: MessageContent): Exclude<MessageContent, string> {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/*
 * Moves system messages to the front, for a provider that does not take all of them in their places.
 */

interface Placed {
  /** The system messages in front. */
  readonly system: readonly BaseMessage[];
  readonly messages: readonly BaseMessage[];
}

export function systemInFront<Conversation extends Placed>(
  conversation: Conversation,
  { systemPlaces }: Dialect,
): Conversation {
  const { messages } = conversation;
  const isSystem = ({ type }: BaseMessage) => type === "system";
  const system = [...conversation.system, ...messages.filter(isSystem)];
  return {
    ...conversation,
    system: systemPlaces?.several ? system : joinSystem(system),
    messages: messages.filter((message) => !isSystem(message)),
  };
}

function joinSystem(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const told = messages.filter(({ content, text }) => Array.isArray(content) || text.trim() !== "");
  const [first, ...others] = told;
  if (first === undefined || others.length === 0) return told;
  // Blocks can have prompt cache marks.
  const content = told.some((message) => Array.isArray(message.content))
    ? told.flatMap(({ content: own }) => toBlocks(own))
    : told.map(({ text }) => text).join("\n\n");
  return [madeOf(new SystemMessage({ content }), told)];
}

/*
 * Adds a short message where a provider demands one that is missing.
 *
 * Mistral does not accept a user message after a tool result. Claude 4.6 and Mistral do not accept an assistant message
 * at the end. Bedrock and GLM demand a user message first, and every provider demands at least one message. A mark
 * tells added user messages from the user's own.
 */

const OPENING = "(The beginning of this conversation is not shown.)";

/** The message that each of these rules demands. */
const BRIDGES = {
  "empty-history": () => createSummaryNote(OPENING),
  "first-user": () => createSummaryNote(OPENING),
  "user-after-tool": () => new AIMessage("I have the results."),
  "assistant-last": () => createSummaryNote("Please continue."),
} as const satisfies Partial<Record<RuleName, () => BaseMessage>>;

/** A missing message, and the rule that demands it. */
interface Bridge {
  readonly message: BaseMessage;
  readonly rule: RuleName;
}

/** The message that two others need between them. Undefined: before the first one, or after the last one. */
export function bridgeBetween(
  before: BaseMessage | undefined,
  after: BaseMessage | undefined,
  rules: Rules,
): Bridge | undefined {
  // A response that the provider paused is sent back as the last message, and goes on.
  if (after === undefined && before !== undefined && hasOpenServerCall(before)) return undefined;
  const rule = ruleBetween(before?.type, after?.type);
  return rule && rules[rule] && { message: BRIDGES[rule](), rule };
}

function ruleBetween(
  before: string | undefined,
  after: string | undefined,
): keyof typeof BRIDGES | undefined {
  if (after === undefined && before === undefined) return "empty-history";
  if (after === undefined) return before === "ai" ? "assistant-last" : undefined;
  // Nobody knows what a message of another role is.
  if (before === undefined) return after === "human" || after === "generic" ? undefined : "first-user";
  return before === "tool" && after === "human" ? "user-after-tool" : undefined;
}

/*
 * Turns messages with custom or outdated roles into messages with the four common roles, where others are refused. Some
 * clients throw for them.
 */

/** The same array if all messages have roles that are taken. */
export function plainRoles(messages: readonly BaseMessage[], dialect: Dialect): readonly BaseMessage[] {
  const plain = messages.map((message) => {
    const made = plainRole(message, dialect);
    return made === message ? message : madeOf(made, [message]);
  });
  return plain.every((message, index) => message === messages[index]) ? messages : plain;
}

function plainRole(message: BaseMessage, { rules, otherRoles }: Dialect): BaseMessage {
  const isTaken = (role: string): boolean => rules.role === undefined || otherRoles?.test(role) === true;
  if (FunctionMessage.isInstance(message)) {
    if (isTaken("function")) return message;
    const text = `The function ${message.name ?? ""} returned:\n${contentText(message)}`;
    return new HumanMessage(withId(message, text));
  }
  if (!ChatMessage.isInstance(message)) return message;
  const { role } = message;
  const fields = withId(message, message.content);
  if (role === "user") return new HumanMessage(fields);
  if (role === "assistant") return new AIMessage(fields);
  if (role === "system") return new SystemMessage(fields);
  if (isTaken(role)) return message;
  if (role === "developer") return new SystemMessage(fields);
  return role === "ai" || role === "model" ? new AIMessage(fields) : new HumanMessage(fields);
}

function withId({ id }: BaseMessage, content: MessageContent): { content: MessageContent; id?: string } {
  return id === undefined ? { content } : { content, id };
}
