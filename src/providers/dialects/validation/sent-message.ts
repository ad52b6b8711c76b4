/** A message as a provider's client would send it. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { isRecord } from "../../../shared/is-record.js";
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

type Fields = Readonly<Record<string, unknown>>;

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
  const output: unknown = response_metadata?.["output"];
  if (places.includes("output") && Array.isArray(output) && output.length > 0) {
    return output
      .filter(isRecord)
      .filter((item) => item["type"] === "function_call")
      .map(readCall);
  }
  const listed = readList(tool_calls);
  if (places.includes("raw") && listed.length === 0) return readList(additional_kwargs?.["tool_calls"]);
  if (!places.includes("block") || !Array.isArray(content)) return listed;
  const blocks = content
    .filter((block) => blockType(block) === "tool_use")
    .filter(isRecord)
    .map(readCall);
  const listedIds = new Set(listed.map(({ id }) => id));
  return [...listed, ...blocks.filter(({ id }) => !listedIds.has(id))];
}

function readList(list: unknown): SentCall[] {
  return Array.isArray(list) ? list.filter(isRecord).map(readCall) : [];
}

function readCall(entry: Fields): SentCall {
  const body = isRecord(entry["function"]) ? entry["function"] : entry;
  const id = entry["call_id"] ?? entry["id"];
  const args = body["args"] ?? body["input"] ?? body["arguments"];
  return {
    id: typeof id === "string" ? id : "",
    name: typeof body["name"] === "string" ? body["name"] : "",
    args: typeof args === "string" ? parse(args) : args,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
