/** Copies, ids, texts and classes of messages. */

import type { BaseMessage, BaseMessageChunk, MessageContent } from "@langchain/core/messages";
import { hashText, toJson } from "../shared/json.js";
import { changesTexts, isRecord, mapTexts, pickFields, textIn } from "../shared/values.js";
import { callBlockOf } from "./call.js";
import { describeBlock } from "./describe-block.js";
import {
  callerIdOf,
  type ServerResultText,
  serverCallId,
  serverResultId,
  serverResultTexts,
} from "./server-tools.js";
import { MOST_LEVELS } from "./storable.js";

/**
 * A deep copy of a message that can be changed freely. It also serializes fields that were set after construction:
 * LangChain serializes only those that the constructor received.
 */
export function cloneMessage<T extends BaseMessage>(message: T): T {
  // Anything but plain data, such as a client's raw response or a function, is kept as it is: `structuredClone` would
  // throw.
  return copyMessage(message, mapTexts(storedFieldsOf(message), (text) => text, LEVELS) as Partial<T>);
}

/** Whether two messages have the same content, however they were constructed. */
export function isSameMessage(one: BaseMessage | undefined, other: BaseMessage | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return toJson(storedFieldsOf(one)) === toJson(storedFieldsOf(other));
}

/** Whether two messages are of one type and say the same, as a text or as blocks. */
export function hasSameWords(one: BaseMessage, other: BaseMessage | undefined): boolean {
  return one.type === other?.type && toJson(wordsIn(one.content)) === toJson(wordsIn(other.content));
}

/** Blocks can have marks for a cache besides their text. */
function wordsIn(content: MessageContent): unknown {
  if (!Array.isArray(content)) return [content];
  return content.map((block) => (block.type === "text" ? textIn(block, "text") : block));
}

function storedFieldsOf(message: BaseMessage): object {
  return pickFields(message, (name) => !name.startsWith("lc_"));
}

/** The field and its list add two levels. */
const LEVELS = MOST_LEVELS + 2;

const wellFormed = (text: string): string => text.toWellFormed();

/** The message with U+FFFD in place of each lone surrogate; the same message if it has none. */
export function withWellFormedTexts<T extends BaseMessage>(message: T): T {
  const changes: Record<string, unknown> = {};
  let isSame = true;
  for (const name in message) {
    const value: unknown = message[name];
    // No client sends a message id that did not come from a provider.
    if (name === "id" || name.startsWith("lc_") || !changesTexts(value, wellFormed, LEVELS)) continue;
    changes[name] = mapTexts(value, wellFormed, LEVELS);
    isSame = false;
  }
  return isSame ? message : (copyMessage<BaseMessage>(message, changes) as T);
}

/** A copy of the message, of the same class, with some fields replaced. The original is not changed. */
export function copyMessage<T extends BaseMessage>(message: T, fields: Partial<T>): T {
  const copy: T = Object.create(Object.getPrototypeOf(message));
  return changeMessage(Object.assign(copy, message), fields);
}

/** The message itself, with some fields replaced: for a response that nobody else has yet. */
export function changeMessage<T extends BaseMessage>(message: T, fields: Partial<T>): T {
  // Serialization reads `lc_kwargs`, not the fields.
  return Object.assign(message, fields, { lc_kwargs: { ...message.lc_kwargs, ...fields } });
}

type Block = Exclude<MessageContent, string>[number];

/**
 * The message with other blocks; the same one if none changes.
 *
 * @param change Contract: returns the block as it is or a new one. Undefined leaves it out.
 */
export function mapBlocks<T extends BaseMessage>(message: T, change: (block: Block) => Block | undefined): T {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const blocks = content.map(change);
  if (blocks.every((block, index) => block === content[index])) return message;
  return copyMessage<BaseMessage>(message, { content: blocks.filter((block) => block !== undefined) }) as T;
}

/**
 * Whether a message is a stream chunk, by LangChain's name for its class. LangChain's own check compares prototypes, so
 * it is false for chunks from another copy of LangChain.
 */
export function isChunk(message: BaseMessage): message is BaseMessageChunk {
  return String(message[Symbol.toStringTag]).endsWith("Chunk");
}

/*
 * Tells which stored messages a model input's message is made from. Only copies that `explainInput` makes are marked,
 * and these are neither sent nor stored.
 */

const PLACES = Symbol("places");

/** A copy that knows its place in the history. Its own copies also know it. */
export function copyWithPlace(message: BaseMessage, place: number): BaseMessage {
  return Object.assign(copyMessage(message, {}), { [PLACES]: [place] });
}

/** The places of the stored messages that it is made from; empty if none of them is marked. */
export function placesOf(message: BaseMessage): readonly number[] {
  const places: readonly number[] | undefined = Reflect.get(message, PLACES);
  return places ?? [];
}

/** The message, marked as made from these. */
export function madeOf<T extends BaseMessage>(message: T, sources: readonly BaseMessage[]): T {
  const places = sources.flatMap(placesOf);
  return places.length === 0 ? message : Object.assign(message, { [PLACES]: places });
}

/*
 * Derives ids for messages without one, so that replaying the same writes gives the same thread.
 */

/**
 * A hash of the previous message's id, and the message's type and content. `salt` tells apart messages for which all
 * these are equal.
 */
export function deriveId(message: BaseMessage, previousId: string, salt = 0): string {
  const calls = "tool_calls" in message ? message.tool_calls : undefined;
  const answeredCallId = "tool_call_id" in message ? message.tool_call_id : undefined;
  // A part that cannot be written as JSON counts only by its type.
  const parts = [previousId, salt, message.type, message.name, message.content, calls, answeredCallId].map(
    (part) => toJson(part) ?? typeof part,
  );
  return hashText(parts.join("\n"));
}

/**
 * A placeholder's id. It is not hashed: its parts are short and tell it from all other messages, and a list can need
 * thousands of placeholders.
 *
 * @param place Identifies the call among all calls of its list.
 */
export function placeholderId(place: string, cause: string, callId: string): string {
  return `placeholder:${place}:${cause}:${callId}`;
}

/** Whether this library derived the id. LangGraph's and providers' ids have another form. */
export function isDerivedId(id: string | undefined): boolean {
  return id !== undefined && /^([0-9a-f]{32}$|placeholder:)/.test(id);
}

/** A derived id that is not yet taken. */
export function deriveUnusedId(
  message: BaseMessage,
  previousId: string,
  isTaken: (id: string) => boolean,
): string {
  for (let salt = 0; ; salt += 1) {
    const id = deriveId(message, previousId, salt);
    if (!isTaken(id)) return id;
  }
}

/**
 * A message's content as text. Other content, such as a picture or file, is described. Calls and reasoning are left
 * out. What a provider's tools returned is told with their calls.
 */
export function contentText({ content }: BaseMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const resultText = serverResultTexts(content);
  return content
    .map((block) => blockText(block, resultText))
    .filter((text) => text !== "")
    .join("\n");
}

/**
 * Replaces the blocks that are not taken with a text, if they say something. A call and its result stay or go together,
 * and with them the calls that the call's code made. A result's text also tells its call.
 */
export function withTextFor(content: readonly Block[], isTaken: (block: Block) => boolean): Block[] {
  const lost = new Set<string | undefined>(
    content.flatMap((block) => (isTaken(block) ? [] : (serverResultId(block) ?? []))),
  );
  for (const block of content) {
    const id = serverCallId(block);
    if (id !== undefined && (!isTaken(block) || lost.has(callerIdOf(block)))) lost.add(id);
  }
  const resultText = serverResultTexts(content);
  return content.flatMap((block) => {
    const call = serverCallId(block);
    if (isTaken(block) && !lost.has(call ?? serverResultId(block))) return [block];
    const text = call === undefined ? blockText(block, resultText) : "";
    return text.trim() === "" ? [] : [{ type: "text", text }];
  });
}

const SILENT_BLOCKS: ReadonlySet<unknown> = new Set([
  // Without a text. Anthropic's client streams a text's citations as a block of their own.
  "text",
  "thinking",
  "redacted_thinking",
  "reasoning",
  "compaction",
  "functionCall",
  "input_json_delta",
  "tool_call",
  "reasoning_content",
  "invalid_tool_call",
]);

/** What is said of a block of which nothing is known. */
const NAMELESS = describeBlock({});

function blockText(block: unknown, resultText: ServerResultText): string {
  if (typeof block === "string") return block;
  if (!isRecord(block) || callBlockOf(block) !== undefined) return "";
  const returned = resultText(block);
  if (returned !== undefined) return returned;
  if (typeof block["text"] === "string") return block["text"];
  const type = typeof block["type"] === "string" ? block["type"] : "block";
  if (SILENT_BLOCKS.has(type)) return "";
  if (type === "non_standard" && isRecord(block["value"])) return blockText(block["value"], resultText);
  if (type === "json" || type === "tool_result") return toJson(block) ?? `[${type}]`;
  const text = isRecord(block["resource"]) ? textIn(block["resource"], "text") : undefined;
  const described = describeBlock(block);
  if (text === undefined) return described === NAMELESS ? "" : described;
  return `${described}\n${text}`;
}

/** A message as a plain object that can be sent as JSON. */
export function toPlain(message: BaseMessage): Record<string, unknown> & { type: string } {
  return { ...message.toDict().data, type: message.type };
}

/**
 * The id of a `RemoveMessage` that removes all messages before it: LangGraph's `REMOVE_ALL_MESSAGES`. It is repeated
 * here because the functions on message lists also run without LangGraph.
 */
export const REMOVE_ALL_MESSAGES = "__remove_all__";
