/** Estimates the tokens of messages. */

import type { BaseMessage } from "@langchain/core/messages";
import { toJson } from "../shared/json.js";
import { isRecord, soundCount } from "../shared/values.js";
import { callsOf, isAIMessage } from "./call.js";
import { countTextTokens } from "./text-tokens.js";

/** The tokens that a provider adds for a message's role and separators. */
const TOKENS_PER_MESSAGE = 4;
/** Providers count pictures, files and sounds by their own rules; this is the order of magnitude. */
const TOKENS_PER_BINARY_BLOCK = 800;
/** A block with more characters than this can be one of these. */
const LONGEST_BLOCK_OF_TEXT = 3_200;

/** Estimates a message's tokens as a provider counts them: see `countTextTokens`. */
export function countTokens(message: BaseMessage): number {
  return TOKENS_PER_MESSAGE + countContent(message.content) + countCallTokens(message);
}

export function sumTokens(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + countTokens(message), 0);
}

/** What the provider counted for a request and its response; 0 if it reported nothing. */
export function usageOf(message: BaseMessage): { readonly input: number; readonly output: number } {
  if (!isAIMessage(message)) return NO_USAGE;
  const { usage_metadata: usage } = message;
  if (!isRecord(usage)) return NO_USAGE;
  const countOf = (of: unknown, name: string): number =>
    (isRecord(of) ? soundCount(of[name]) : undefined) ?? 0;
  const input = countOf(usage, "input_tokens");
  if (input === 0) return NO_USAGE;
  const details = usage["input_token_details"];
  const cached = countOf(details, "cache_read") + countOf(details, "cache_creation");
  // Some clients count cached tokens beside the input, not as a part of it.
  return { input: cached > input ? input + cached : input, output: countOf(usage, "output_tokens") };
}

const NO_USAGE = { input: 0, output: 0 };

function countContent(content: unknown): number {
  if (typeof content === "string") return countTextTokens(content);
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum: number, block: unknown) => sum + countBlock(block), 0);
}

export function countBlock(block: unknown): number {
  if (typeof block === "string") return countTextTokens(block);
  if (!isRecord(block)) return 0;
  if (typeof block["text"] === "string") return countTextTokens(block["text"]);
  const written = toJson(block) ?? "";
  return written.length > LONGEST_BLOCK_OF_TEXT && /"(?:data|url|image_url|base64)"/.test(written)
    ? TOKENS_PER_BINARY_BLOCK
    : countTextTokens(written);
}

function countCallTokens(message: BaseMessage): number {
  if (callsOf(message).length === 0 || !isAIMessage(message)) return 0;
  const { tool_calls, invalid_tool_calls, additional_kwargs } = message;
  const raw = tool_calls?.length ? [] : (additional_kwargs?.tool_calls ?? []);
  const texts = [tool_calls, invalid_tool_calls, raw].map((list) => toJson(list) ?? "");
  return countTextTokens(texts.join(""));
}
