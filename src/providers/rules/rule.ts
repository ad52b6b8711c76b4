/** What a rule about histories is, and how a provider sees the messages to which it applies. */

import type { BaseMessage } from "@langchain/core/messages";
import { argumentsIn, flatEntry, isAIMessage, readCall } from "../../history/call.js";
import { parseJson } from "../../shared/json.js";
import { isRecord, recordsIn } from "../../shared/values.js";
import type { Target } from "../contract/author.js";
import type { CallPlace, Dialect } from "../contract/dialect.js";
import type { RuleName } from "../contract/rule.js";
import { askedItems, callOfItem } from "../contract/stored-items.js";
import { isForeignBlock, isLeftOut } from "../table/dialects.js";

/**
 * A rule about histories. A dialect says whether its provider has the rule, and in which words. The check, the model
 * input and its explanation follow the same list of rules: `rules.ts`.
 */
export interface HistoryRule {
  readonly name: RuleName;
  /** What it is about: calls and their results, the order of messages, or the content of one message. */
  readonly about: "pairing" | "order" | "content";
  /** What a history that breaks it is like, as a sentence. */
  readonly meaning: string;
  /** Finds each place that breaks it, whether or not the dialect has the rule. Changes nothing. */
  readonly find: (messages: readonly SentMessage[], dialect: Dialect) => Iterable<Fault>;
  /** How the model input keeps it, message by message. Several rules can share a step. */
  readonly step?: InputStep;
  /** How the model input keeps it between messages. */
  readonly bridge?: Bridge;
}

/** A place that breaks a rule, and the values for the words of the provider. */
export interface Fault {
  /** The index in the message list. */
  readonly index: number;
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly next?: number;
}

/**
 * One step from the history to messages that a provider accepts. It is made once for a list, and then gets the list's
 * messages in order.
 *
 * Contract: deterministic. Expects groups in which each tool call has one result, directly after its message and in
 * call order, and keeps them so. The output for a message depends only on that message and those before it, so a prompt
 * cache stays valid when the history grows.
 */
export type InputStep = (target: Target) => Change;

/**
 * The message in its new form. Undefined leaves it out. A message without a reason to change keeps its identity.
 *
 * @param index How many messages are sent before it, without system messages.
 */
export type Change = (message: BaseMessage, index: number) => BaseMessage | undefined;

/** A short message that is missing between two others. Undefined: before the first one, or after the last one. */
export interface Bridge {
  readonly isMissing: (before: BaseMessage | undefined, after: BaseMessage | undefined) => boolean;
  readonly create: () => BaseMessage;
}

/** The `find` of a rule that looks at each message alone. */
export function inEach(
  find: (sent: SentMessage, dialect: Dialect) => Omit<Fault, "index"> | false | undefined,
): HistoryRule["find"] {
  return (messages, dialect) =>
    messages.flatMap((sent) => {
      const fault = find(sent, dialect);
      return fault ? [{ ...fault, index: sent.index }] : [];
    });
}

/** A fault whose words have no places for values. */
export const BROKEN = {};

/*
 * A message as a provider's client would send it.
 */

interface SentCall {
  readonly id: string;
  readonly name: string;
  /** Undefined if they cannot be read as JSON. */
  readonly args: unknown;
}

export interface SentMessage {
  /** The index in the message list. */
  readonly index: number;
  readonly message: BaseMessage;
  /** `system`, `user`, `assistant`, `tool`, or the message's own name for its role. */
  readonly role: string;
  readonly calls: readonly SentCall[];
  /** The sent content, without the blocks that the client leaves out. */
  readonly content: unknown;
}

const ROLES: Readonly<Record<string, string>> = {
  system: "system",
  human: "user",
  ai: "assistant",
  tool: "tool",
};
export const KNOWN_ROLES: ReadonlySet<string> = new Set(Object.values(ROLES));

export function roleOf(message: BaseMessage): string {
  return ROLES[message.type] ?? ("role" in message ? String(message.role) : message.type);
}

export function toSentMessages(messages: readonly BaseMessage[], dialect: Dialect): SentMessage[] {
  return messages.map((message, index) => ({
    index,
    message,
    role: roleOf(message),
    calls: sentCallsOf(message, dialect.callPlaces),
    content: sentContentOf(message, dialect),
  }));
}

export function blockType(block: unknown): string {
  return isRecord(block) && typeof block["type"] === "string" ? block["type"] : typeof block;
}

function sentContentOf(message: BaseMessage, dialect: Dialect): unknown {
  const { content } = message;
  const { ignoredBlocks } = dialect;
  if (!Array.isArray(content) || !isAIMessage(message)) return content;
  return content.filter(
    (block) =>
      !isRecord(block) ||
      (!isLeftOut(block, dialect) &&
        (!isForeignBlock(block, dialect) ||
          (ignoredBlocks !== "all" && !ignoredBlocks.includes(blockType(block))))),
  );
}

function sentCallsOf(message: BaseMessage, places: readonly CallPlace[]): SentCall[] {
  if (!isAIMessage(message)) return [];
  const { tool_calls, additional_kwargs, response_metadata, content } = message;
  const output = recordsIn(response_metadata?.["output"]);
  if (places.includes("output") && output.length > 0)
    return [...askedItems(message)].flatMap((item) => callOfItem(item) ?? []);
  const listed = recordsIn(tool_calls).map(readSentCall);
  const raw = listed.length === 0 ? recordsIn(additional_kwargs?.["tool_calls"]) : [];
  if (places.includes("raw") && raw.length > 0) return raw.map(readSentCall);
  if (!places.includes("block")) return listed;
  const blocks = recordsIn(content).filter((block) => block["type"] === "tool_use");
  const listedIds = new Set(listed.map(({ id }) => id));
  return [...listed, ...blocks.map(readSentCall).filter(({ id }) => !listedIds.has(id))];
}

function readSentCall(entry: Readonly<Record<string, unknown>>): SentCall {
  const fields = flatEntry(entry);
  const args = argumentsIn(fields);
  return { ...readCall(fields), args: typeof args === "string" ? parseJson(args) : args };
}
