/** Renders a history as a text for a summariser. */

import type { BaseMessage } from "@langchain/core/messages";
import { toJson } from "../shared/json.js";
import { beginningOf, isHighSurrogate } from "../shared/text.js";
import { argumentsOf, callsOf } from "./call.js";
import { contentText } from "./message.js";
import { isResult } from "./result.js";
import { countTextTokens } from "./text-tokens.js";

const SPEAKERS: Readonly<Record<string, string>> = {
  human: "User",
  ai: "Assistant",
  system: "System",
  tool: "Tool",
};

/** One paragraph per message. Calls have their arguments; results have their tool and status. */
export function renderMessage(message: BaseMessage): string {
  const speaker = SPEAKERS[message.type] ?? message.type;
  const lines = [contentText(message)].filter((text) => text !== "");
  if (isResult(message)) {
    const status = message.status === "error" ? ", error" : "";
    return `${speaker} ${message.name ?? ""} (${message.tool_call_id}${status}): ${lines.join("\n")}`;
  }
  const written = argumentsOf(message);
  for (const [index, call] of callsOf(message).entries()) {
    const args = written[index];
    lines.push(
      `[calls ${call.name} (${call.id}): ${typeof args === "string" ? args : (toJson(args) ?? "")}]`,
    );
  }
  return `${speaker}: ${lines.join("\n")}`;
}

/**
 * The messages in pieces of at most `tokensPerPiece` tokens, for a summariser that reads them one after another.
 * Nothing is left out: a message that is too long for a piece continues in the next one.
 */
export function renderTranscript(messages: readonly BaseMessage[], tokensPerPiece: number): string[] {
  const paragraphs = messages.flatMap((message) =>
    splitText(renderMessage(message).toWellFormed(), tokensPerPiece),
  );
  const pieces: string[] = [];
  let piece = "";
  let tokens = 0;
  for (const paragraph of paragraphs) {
    // At most one token more than the joined text has.
    const joined = tokens + countTextTokens(`\n\n${paragraph}`);
    if (piece !== "" && joined > tokensPerPiece) {
      pieces.push(piece);
      piece = "";
    }
    tokens = piece === "" ? countTextTokens(paragraph) : joined;
    piece = piece === "" ? paragraph : `${piece}\n\n${paragraph}`;
  }
  return piece === "" ? pieces : [...pieces, piece];
}

function splitText(text: string, tokens: number): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    // One character more shows whether the last one is half of a pair.
    const left = text.slice(start, start + longestWith(tokens) + 1);
    const part = takeStart(left, tokens) || left.slice(0, isHighSurrogate(left, 0) ? 2 : 1);
    parts.push(part);
    start += part.length;
  }
  return parts;
}

/*
 * Shorter forms of a text that is too long, measured in estimated tokens.
 */

const BREAK = "\n…\n";
/** The most of a text that is searched for keywords. */
const LONGEST_SEARCHED = 400_000;

/** The beginning and then, as far as there is room, the lines with a keyword, in order. */
export function excerptOf(text: string, tokens: number, keywords: readonly string[]): string {
  const relevant = text
    .slice(0, LONGEST_SEARCHED)
    .split("\n")
    .filter((line) => keywords.some((keyword) => line.toLowerCase().includes(keyword)));
  const forLines = relevant.length === 0 ? 0 : Math.floor(tokens / 2);
  const beginning = takeStart(text, tokens - forLines);
  const shown = new Set(beginning.split("\n"));
  const rest = relevant.filter((line) => !shown.has(line)).join("\n");
  return rest === ""
    ? takeStart(text, tokens)
    : `${beginning}${BREAK}${takeStart(rest, forLines - BREAK.length)}`;
}

/** The beginning and the end, around a note about what is missing. The beginning gets two thirds of the room. */
export function cutMiddle(text: string, tokens: number, note: string): string {
  const beginning = takeStart(text, Math.ceil((tokens * 2) / 3));
  const end = takeEnd(text.slice(beginning.length), Math.floor(tokens / 3));
  return `${beginning}${note}${end}`;
}

/** The longest beginning with at most this many tokens. */
function takeStart(text: string, tokens: number): string {
  return longestPart(text, tokens, beginningOf);
}

function takeEnd(text: string, tokens: number): string {
  return longestPart(text, tokens, (whole, length) => {
    const start = whole.length - length;
    return whole.slice(isHighSurrogate(whole, start - 1) ? start + 1 : start);
  });
}

/** Few texts have more characters per token, and a part of those is enough. */
const MOST_CHARACTERS_PER_TOKEN = 8;

function longestWith(tokens: number): number {
  return Math.max(Math.ceil(tokens), 1) * MOST_CHARACTERS_PER_TOKEN;
}

/** @param part Contract: returns a part of this length, or one character less, to keep a surrogate pair whole. */
function longestPart(text: string, tokens: number, part: (text: string, length: number) => string): string {
  // Without half of a surrogate pair, a text can have one token more.
  const fits = (length: number) => countTextTokens(part(text, length)) <= tokens;
  const longest = Math.min(text.length, longestWith(tokens));
  if (fits(longest)) return part(text, longest);
  let [least, most] = [0, longest - 1];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(middle)) least = middle;
    else most = middle - 1;
  }
  return part(text, least);
}

/** More words than this say nothing more about a request. */
const MOST_KEYWORDS = 40;
const LONGEST_REQUEST = 4_000;
const KEYWORD_LENGTH = 3;
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Long words. In scripts without spaces between words, pairs of characters. */
export function keywordsOf(text: string): readonly string[] {
  const words = text
    .slice(0, LONGEST_REQUEST)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((word) => (IDEOGRAPHS.test(word) ? pairsOf(word) : word.length > KEYWORD_LENGTH ? [word] : []));
  return [...new Set(words)].slice(0, MOST_KEYWORDS);
}

function pairsOf(word: string): string[] {
  const characters = [...word];
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
}

/**
 * The highest level to which sizes can be cut so that their sum is at most `room`. Sizes below the level stay whole,
 * and leave their room to the others. Infinity if nothing must be cut.
 */
export function levelFor(sizes: readonly number[], room: number): number {
  let left = room;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    const level = Math.floor(left / (sizes.length - index));
    if (size > level) return Math.max(level, 0);
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}
