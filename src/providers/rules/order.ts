/** The rules about who speaks when. */

import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  type MessageContent,
  SystemMessage,
} from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { MARKS } from "../../history/marks.js";
import { contentText, copyMessage, madeOf } from "../../history/message.js";
import { hasOpenServerCall } from "../../history/server-tools.js";
import { createSummaryNote } from "../../history/summary.js";
import { defined } from "../../shared/values.js";
import { mayHaveWritten, type Target } from "../contract/author.js";
import type { Dialect, SystemPlaces } from "../contract/dialect.js";
import type { StatedRules } from "../contract/rule.js";
import {
  type Bridge,
  type Fault,
  type HistoryRule,
  inEach,
  KNOWN_ROLES,
  roleOf,
  type SentMessage,
} from "./rule.js";
import { saidBlocks } from "./state.js";

/*
 * A message that a provider demands, and that is missing. A short one is added.
 *
 * Older APIs of Mistral do not accept a user message after a tool result. Claude 4.6 and Mistral do not accept an
 * assistant message at the end. Bedrock and GLM demand a user message first, and every provider demands at least one
 * message. A mark tells added user messages from the user's own.
 */

const createOpening = () => createSummaryNote("(The beginning of this conversation is not shown.)");

const BRIDGED: readonly HistoryRule[] = [
  bridged("empty-history", "There are no messages except system messages.", {
    isMissing: (before, after) => before === undefined && after === undefined,
    create: createOpening,
  }),
  bridged("first-user", "The first message after the system message is not the user's.", {
    // Nobody knows what a message of another role is.
    isMissing: (before, after) =>
      before === undefined && (hasRole(after, "assistant") || hasRole(after, "tool")),
    create: createOpening,
  }),
  bridged("user-after-tool", "A user message follows a result.", {
    isMissing: (before, after) => hasRole(before, "tool") && hasRole(after, "user"),
    create: () => new AIMessage("I have the results."),
  }),
  bridged("assistant-last", "The last message is the assistant's.", {
    // A response that the provider paused is sent back as the last message, and continues.
    isMissing: (before, after) =>
      after === undefined &&
      before !== undefined &&
      hasRole(before, "assistant") &&
      !hasOpenServerCall(before),
    create: () => createSummaryNote("Please continue."),
  }),
];

function hasRole(message: BaseMessage | undefined, role: string): boolean {
  return message !== undefined && roleOf(message) === role;
}

function bridged(name: HistoryRule["name"], meaning: string, bridge: Bridge): HistoryRule {
  return {
    name,
    about: "order",
    meaning,
    find: (messages) => {
      // Some providers have one place for all system messages, so these separate no others.
      const talk = messages.filter(({ role }) => role !== "system");
      return [undefined, ...talk].flatMap((before, place): Fault[] => {
        const after = talk[place];
        const index = after?.index ?? before?.index ?? 0;
        return bridge.isMissing(before?.message, after?.message) ? [{ index }] : [];
      });
    },
    bridge,
  };
}

/** The missing message between two others, and the rule that demands it. */
export function bridgeBetween(
  before: BaseMessage | undefined,
  after: BaseMessage | undefined,
  stated: StatedRules,
): { readonly message: BaseMessage; readonly rule: HistoryRule["name"] } | undefined {
  const found = BRIDGED.find(({ name, bridge }) => stated[name] && bridge?.isMissing(before, after));
  return found?.bridge && { message: found.bridge.create(), rule: found.name };
}

/*
 * Messages of one role after one another. They are merged.
 *
 * Bedrock and many chat templates demand that user and assistant alternate. Some providers reject a tool call after an
 * assistant text.
 */

const MERGED: readonly HistoryRule[] = [
  {
    name: "alternation",
    about: "order",
    meaning: "Two messages of the same role follow one another.",
    find: inPairs((before, { role }) => role === before.role && (role === "user" || role === "assistant")),
  },
  {
    name: "call-position",
    about: "order",
    meaning: "A message with calls follows an assistant message.",
    find: inPairs((before, { calls }) => before.role === "assistant" && calls.length > 0),
  },
];

function inPairs(isBroken: (before: SentMessage, sent: SentMessage) => boolean): HistoryRule["find"] {
  return (messages) =>
    messages.flatMap((sent, place): Fault[] => {
      const before = messages[place - 1];
      return before !== undefined && isBroken(before, sent) ? [{ index: sent.index }] : [];
    });
}

/** Whether a message and the one before it may become one. What follows them can decide it. */
export function mayMerge({ type }: BaseMessage, before: BaseMessage, stated: StatedRules): boolean {
  if (before.type !== type) return false;
  if (stated.alternation !== undefined) return type === "human" || type === "ai";
  return type === "ai" && stated["call-position"] !== undefined;
}

/** Whether mergeable messages are merged: for some providers, only before calls. */
export function isMerged(run: readonly BaseMessage[], stated: StatedRules): boolean {
  const last = run.at(-1);
  const hasCalls = last !== undefined && isAIMessage(last) && (last.tool_calls ?? []).length > 0;
  return stated.alternation !== undefined || hasCalls;
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
 * System messages in places where a provider accepts none. All of them go to the front.
 */

const SYSTEM: HistoryRule = {
  name: "system-position",
  about: "order",
  meaning: "A system message stands where the provider accepts none.",
  find: (messages, dialect) => {
    const index = misplacedSystem(
      messages.map(({ message }) => message),
      dialect,
    );
    return index < 0 ? [] : [{ index, name: messages[index - 1]?.role ?? "" }];
  },
};

const IN_FRONT: SystemPlaces = { several: false, after: [], last: false };

/**
 * The place of the first system message where the provider accepts none. -1 if there is none.
 *
 * @param modelId Undefined: some model of the provider takes it. Empty: the model is unknown.
 */
export function misplacedSystem(
  messages: readonly Pick<BaseMessage, "type">[],
  { rules, systemPlaces = IN_FRONT }: Dialect,
  modelId?: string,
): number {
  if (rules["system-position"] === undefined) return -1;
  const { several, after, before, last, models } = systemPlaces;
  const isTakenAfter = ({ type }: Pick<BaseMessage, "type">) => after.some((taken) => taken === type);
  const isTakenBefore = (next: Pick<BaseMessage, "type"> | undefined) =>
    next === undefined ? last : (before?.some((taken) => taken === next.type) ?? true);
  const takesAny = models === undefined || modelId === undefined || models.test(modelId);
  const talk = messages.findIndex(({ type }) => type !== "system");
  let count = 0;
  return messages.findIndex((message, index) => {
    if (message.type !== "system") return false;
    count += 1;
    if (count > 1 && !several) return true;
    const previous = messages[index - 1];
    if (previous === undefined || talk < 0 || index < talk) return false;
    return !takesAny || !isTakenAfter(previous) || !isTakenBefore(messages[index + 1]);
  });
}

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
 * Custom or outdated roles. They become the four common ones, where others are refused. Some clients throw for them.
 */

const ROLE: HistoryRule = {
  name: "role",
  about: "content",
  meaning: "A message has a role that the provider does not know.",
  find: inEach(({ role, message }, { otherRoles }) => {
    const isCommon = KNOWN_ROLES.has(role) && message.type !== "generic";
    return !isCommon && !otherRoles?.test(role) && { name: role };
  }),
};

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

export const ORDER_RULES: readonly HistoryRule[] = [...BRIDGED, ...MERGED, SYSTEM, ROLE];
