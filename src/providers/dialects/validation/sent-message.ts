/** A message as a provider's client would send it. */

import type { BaseMessage } from "@langchain/core/messages";
import { argumentsIn, flatEntry, isAIMessage, readCall } from "../../../history/messages/call.js";
import { isRecord } from "../../../shared/is-record.js";
import { parseJson } from "../../../shared/parse-json.js";
import { recordsIn } from "../../../shared/records-in.js";
import type { CallPlace, Dialect } from "../rule.js";

export interface SentCall {
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
  /** The content that is sent, without the blocks that the client leaves out. */
  readonly content: unknown;
}

const ROLES: Readonly<Record<string, string>> = {
  system: "system",
  human: "user",
  ai: "assistant",
  tool: "tool",
};

export function toSentMessages(messages: readonly BaseMessage[], dialect: Dialect): SentMessage[] {
  return messages.map((message, index) => ({
    index,
    message,
    role: ROLES[message.type] ?? ("role" in message ? String(message.role) : message.type),
    calls: sentCallsOf(message, dialect.callPlaces),
    content: sentContentOf(message, dialect),
  }));
}

/** The text of a string or of a text block. Undefined for anything else. */
export function textOf(block: unknown): string | undefined {
  if (typeof block === "string") return block;
  if (!isRecord(block) || block["type"] !== "text") return undefined;
  return typeof block["text"] === "string" ? block["text"] : "";
}

/** Whether the content says nothing: it is blank text, or has no blocks. */
export function isBlank(content: unknown): boolean {
  if (typeof content === "string") return content.trim() === "";
  return Array.isArray(content) && content.every((block) => textOf(block)?.trim() === "");
}

export function blockType(block: unknown): string {
  return isRecord(block) && typeof block["type"] === "string" ? block["type"] : typeof block;
}

function sentContentOf(message: BaseMessage, { assistantBlocks, ignoredBlocks }: Dialect): unknown {
  const { content } = message;
  if (!Array.isArray(content) || !isAIMessage(message)) return content;
  return content.filter((block) => {
    const type = blockType(block);
    if (assistantBlocks.includes(type)) return true;
    return ignoredBlocks !== "all" && !ignoredBlocks.includes(type);
  });
}

function sentCallsOf(message: BaseMessage, places: readonly CallPlace[]): SentCall[] {
  if (!isAIMessage(message)) return [];
  const { tool_calls, additional_kwargs, response_metadata, content } = message;
  const output = recordsIn(response_metadata?.["output"]);
  if (places.includes("output") && output.length > 0)
    return output.filter((item) => item["type"] === "function_call").map(readSentCall);
  const listed = recordsIn(tool_calls).map(readSentCall);
  if (places.includes("raw") && listed.length === 0)
    return recordsIn(additional_kwargs?.["tool_calls"]).map(readSentCall);
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
