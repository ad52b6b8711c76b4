/** Shorter copies of messages. Each has about as many tokens as given, or is the message itself. */

import type { AIMessage, BaseMessage, MessageContent, ToolMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { withArguments } from "../../history/change-calls.js";
import { contentText, copyMessage } from "../../history/message.js";
import { isResult } from "../../history/result.js";
import { countBlock, countTokens } from "../../history/size.js";
import { countTextTokens } from "../../history/text-tokens.js";
import { cutMiddle, excerptOf, levelFor } from "../../history/transcript.js";
import { toJson } from "../../shared/json.js";
import { beginningOf } from "../../shared/text.js";
import { isRecord, textIn } from "../../shared/values.js";
import type { Block, Fields } from "../contract/dialect.js";
import { reasoningOf, withReasoning } from "../host-fields/fields.js";
import { isResultMedia } from "./result-media.js";

/** A message's tokens, with the reasoning that is sent back in its own field. */
export function sizeOf(message: BaseMessage): number {
  const reasoning = reasoningOf(message);
  return countTokens(message) + (reasoning === undefined ? 0 : countTextTokens(reasoning));
}

export function sizeOfInput(messages: readonly BaseMessage[]): number {
  return messages.reduce((total, message) => total + sizeOf(message), 0);
}

/** Shortens a result, or the arguments of a message's calls. The user's and the model's texts stay whole. */
export function shortenWork(message: BaseMessage, tokens: number, keywords: readonly string[]): BaseMessage {
  if (isResultMedia(message)) return shortenText(message, tokens);
  if (!isAIMessage(message)) return shortenResult(message, tokens, keywords);
  return sizeOf(message) <= tokens ? message : shorterOf(message, shortenArguments(message, tokens));
}

/** Shortens a result. Every other message stays whole. */
export function shortenResult(
  message: BaseMessage,
  tokens: number,
  keywords: readonly string[],
): BaseMessage {
  if (!isResult(message) || sizeOf(message) <= tokens) return message;
  return shorterOf(message, excerptOfResult(message, tokens, keywords));
}

function shorterOf(message: BaseMessage, shorter: BaseMessage): BaseMessage {
  return sizeOf(shorter) < sizeOf(message) ? shorter : message;
}

/** A result keeps its beginning, and the lines with a keyword. */
function excerptOfResult(result: ToolMessage, tokens: number, keywords: readonly string[]): ToolMessage {
  const text = contentText(result);
  const note = `\n[… shortened from ${text.length} characters]`;
  const frame = countTokens(copyMessage(result, { content: note }));
  return copyMessage(result, {
    content: `${excerptOf(text, Math.max(tokens - frame, 1), keywords)}${note}`,
  });
}

function shortenArguments(message: AIMessage, tokens: number): AIMessage {
  const calls = message.tool_calls ?? [];
  const sizes = calls.map(({ args }) => sizeOfJson(args));
  const others = sizeOf(withArguments(message, new Map(calls.map((_, index) => [index, {}]))));
  const level = levelFor(sizes, tokens - others);
  const changes = calls.flatMap(({ args }, index) =>
    (sizes[index] ?? 0) > level ? [[index, shortenObject(args, level)] as const] : [],
  );
  return withArguments(message, new Map(changes));
}

/** Shortens what a user or the model wrote, and reasoning. Beginning and end stay. */
export function shortenText(message: BaseMessage, tokens: number): BaseMessage {
  const excess = sizeOf(message) - tokens;
  if (excess <= 0) return message;
  const reasoning = reasoningOf(message) ?? "";
  const sizes = [countTextTokens(reasoning), ...[message.content].flat().map(countBlock)];
  const level = Math.max(levelFor(sizes, sum(sizes) - excess), 1);
  const shorter = copyMessage(withReasoning(message, cut(reasoning, level)), {
    content: shortenContent(message, level, sum(sizes) - excess),
    // The client of OpenAI's Responses API sends the stored output instead of the content.
    ...(message.response_metadata?.["output"] !== undefined && {
      response_metadata: { ...message.response_metadata, output: undefined },
    }),
  });
  return shorterOf(message, shorter);
}

/** Texts are cut to the level. A user's pictures and files go, last first, if they have no room. */
function shortenContent(message: BaseMessage, level: number, room: number): MessageContent {
  const { content, type } = message;
  if (typeof content === "string") return cut(content, level);
  const isMedia = (block: Block): boolean => type === "human" && textIn(block, "text") === undefined;
  const others = content.filter((block) => !isMedia(block));
  let left = room - sum(others.map((block) => Math.min(countBlock(block), level)));
  const kept = content.flatMap((block): Block[] => {
    const text = textIn(block, "text");
    if (text !== undefined) return [{ ...block, text: cut(text, level) }];
    if (isMedia(block)) left -= countBlock(block);
    return left >= 0 || !isMedia(block) ? [block] : [];
  });
  const gone = content.length - kept.length;
  if (gone === 0) return kept;
  return [...kept, { type: "text", text: `[… ${gone} pictures or files are left out …]` }];
}

function cut(text: string, tokens: number): string {
  if (countTextTokens(text) <= tokens) return text;
  const note = `\n[… shortened from ${text.length} characters, because the model input would be too long …]\n`;
  return cutMiddle(text, Math.max(tokens - countTextTokens(note), 1), note);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

const SHORTEST_TEXT = 16;
const FEWEST_ENTRIES = 3;

/**
 * Shortens the texts and lists in a JSON object until it has at most `tokens` estimated tokens, or cannot get shorter.
 * It stays an object with the same fields, as far as there is room, and always keeps some of them.
 */
function shortenObject(value: Fields, tokens: number): Fields {
  let shorter = value;
  for (let longest = tokens * 4; longest >= SHORTEST_TEXT; longest = Math.floor(longest / 2)) {
    shorter = shortenFields(value, longest);
    if (sizeOfJson(shorter) <= tokens) return shorter;
  }
  // Without any field, nobody could tell what the call was for.
  return shorter === value ? shortenFields(value, SHORTEST_TEXT) : shorter;
}

function sizeOfJson(value: unknown): number {
  return countTextTokens(toJson(value) ?? "");
}

function shortenFields(value: Fields, longest: number): Fields {
  const entries = Object.entries(value);
  const most = mostEntries(longest);
  const kept = entries.slice(0, most).map(([name, inner]) => [name, shortenValue(inner, longest)] as const);
  const rest = entries.length - kept.length;
  return Object.fromEntries(rest > 0 ? [...kept, ["…", `${rest} more`]] : kept);
}

function shortenValue(value: unknown, longest: number): unknown {
  if (typeof value === "string")
    return value.length > longest
      ? `${beginningOf(value, longest)}[… shortened from ${value.length} characters]`
      : value;
  if (Array.isArray(value)) {
    const kept = value.slice(0, mostEntries(longest)).map((item) => shortenValue(item, longest));
    return value.length > kept.length ? [...kept, `… ${value.length - kept.length} more`] : kept;
  }
  return isRecord(value) ? shortenFields(value, longest) : value;
}

function mostEntries(longest: number): number {
  return Math.max(FEWEST_ENTRIES, Math.floor(longest / SHORTEST_TEXT));
}
